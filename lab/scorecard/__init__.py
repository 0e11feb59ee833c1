"""`hakmem scorecard`: one page that says where an allocator stands against all others.

`card` is what was measured, as plain data. `conduct` measures it, section by section: `speed`, `calls`, `memory`,
`long_run`, `tail`, `startup`. `bars`, `findings` and `changes` judge it. `page` turns it into a `document`, which
`markdown` and `html` write.
"""
