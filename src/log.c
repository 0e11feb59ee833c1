/* log: see log.h. A line is formatted into one buffer on the stack and leaves with one write. */
#include "base.h"
#include "os.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

#define LOG_LINE 400
#define LOG_PREFIX "hakmem: "

struct log_text {
    char *at;
    char *end; /* the terminator's place is not counted */
};

static void log_put(struct log_text *text, char c) {
    if (text->at < text->end)
        *text->at++ = c;
}

static void log_put_string(struct log_text *text, const char *string) {
    for (string = string != NULL ? string : "(null)"; *string != '\0'; string++)
        log_put(text, *string);
}

static void log_put_number(struct log_text *text, unsigned long long number, unsigned base) {
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    while (count != 0)
        log_put(text, digits[--count]);
}

/* Length modifiers are followed so that the right type is taken from the arguments. */
enum log_length { LOG_INT, LOG_LONG, LOG_LONG_LONG };

static enum log_length log_read_length(const char **format) {
    enum log_length length = LOG_INT;
    for (; **format == 'l' || **format == 'z'; ++*format)
        length = length == LOG_INT ? LOG_LONG : LOG_LONG_LONG;
    return length;
}

size_t log_format_v(char *buffer, size_t bytes, const char *format, va_list arguments) {
    struct log_text text = {buffer, buffer + bytes - 1};
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            log_put(&text, *format);
            continue;
        }
        format++;
        enum log_length length = log_read_length(&format);
        unsigned long long number = 0;
        if (*format == 'd') {
            long long value = length == LOG_INT    ? va_arg(arguments, int)
                              : length == LOG_LONG ? va_arg(arguments, long)
                                                   : va_arg(arguments, long long);
            if (value < 0)
                log_put(&text, '-');
            number = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
        } else if (*format == 'u' || *format == 'x') {
            number = length == LOG_INT    ? va_arg(arguments, unsigned)
                     : length == LOG_LONG ? va_arg(arguments, unsigned long)
                                          : va_arg(arguments, unsigned long long);
        } else if (*format == 'p') {
            number = (uintptr_t)va_arg(arguments, void *);
            log_put_string(&text, "0x");
        }
        if (*format == 's')
            log_put_string(&text, va_arg(arguments, const char *));
        else if (*format == 'c')
            log_put(&text, (char)va_arg(arguments, int));
        else if (*format == '%')
            log_put(&text, '%');
        else
            log_put_number(&text, number, *format == 'x' || *format == 'p' ? 16 : 10);
    }
    *text.at = '\0';
    return (size_t)(text.at - buffer);
}

size_t log_format(char *buffer, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t length = log_format_v(buffer, bytes, format, arguments);
    va_end(arguments);
    return length;
}

void log_raw(const char *text, size_t bytes) {
    os_write(os_stderr(), text, bytes);
}

static LOG_FORMAT(1, 0) void log_line_v(const char *format, va_list arguments) {
    char line[LOG_LINE];
    const size_t prefix = sizeof LOG_PREFIX - 1;
    memcpy(line, LOG_PREFIX, prefix);
    size_t length = prefix + log_format_v(line + prefix, sizeof line - prefix, format, arguments);
    line[length] = '\n';
    log_raw(line, length + 1);
}

void log_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_line_v(format, arguments);
    va_end(arguments);
}

_Noreturn void log_die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_line_v(format, arguments);
    va_end(arguments);
    abort();
}

_Noreturn COLD void base_assert_failed(const char *promise, const char *expression, const char *file,
                                       int line) {
    log_die("promise %s is broken: %s (%s:%d)", promise, expression, file, line);
}
