/* log: messages and last words, without allocating.
 *
 * Owns the format of everything hakmem says on stderr: one line, "hakmem: " in front, one write.
 *
 * P1  nothing here allocates, takes a lock or needs more than 512 bytes of stack for its text.
 * P2  no text is written past `bytes`; what does not fit is cut, and the line still ends with a newline.
 * P3  log_line keeps errno.
 *
 * Formats: %s %c %d %u %x %p %% and the lengths l, ll, z of d, u, x. No widths, no precision, no floating
 * point.
 *
 * Called by every room from floor 3 up. Never fails: a closed stderr is ignored.
 */
#ifndef HAKMEM_LOG_H
#define HAKMEM_LOG_H

#include <stdarg.h>
#include <stddef.h>

#define LOG_FORMAT(text, first) __attribute__((format(printf, text, first)))

/* "hakmem: " + text + newline, to stderr. */
void log_line(const char *format, ...) LOG_FORMAT(1, 2);

/* Last words, then abort(). */
_Noreturn void log_die(const char *format, ...) LOG_FORMAT(1, 2);

/* Formats into buffer (bytes > 0), always terminated; returns the length without the terminator. */
size_t log_format(char *buffer, size_t bytes, const char *format, ...) LOG_FORMAT(3, 4);
size_t log_format_v(char *buffer, size_t bytes, const char *format, va_list arguments) LOG_FORMAT(3, 0);

/* Exactly this text to stderr: no prefix, no newline. */
void log_raw(const char *text, size_t bytes);

#endif
