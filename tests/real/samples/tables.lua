-- Tables and strings, much garbage; prints a sum over what is left.
local count = tonumber(arg[1])
local state, tables = 1, {}
local function draw(below)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % below
end
for i = 1, count do
    local key = draw(3000)
    tables[key] = { name = ("n"):rep(draw(60)) .. i, list = {} }
    for j = 1, draw(12) do tables[key].list[j] = tostring(draw(100000)) end
    if draw(2) == 0 then tables[draw(3000)] = nil end
end
local sum, live = 0, 0
for key = 0, 2999 do
    local entry = tables[key]
    if entry then
        live = live + 1
        sum = (sum * 31 + #entry.name + #table.concat(entry.list)) % 4294967296
    end
end
print(live, sum)
