// Sessions of a server: each has state and two buffers as long as it is open; a request has some temporary blocks and an answer that grows, which is
// freed when the next request of that session comes, or with the session.
#include "application.h"

#include <stdlib.h>

enum { STATE = 6, TEMPORARY = 12, STEPS_OF_EACH = 60, STEPS_MOST = 100000, CLOSED_EACH = 20, PIECE = 1000 };

struct session {
    void *state[STATE], *in, *out;
    struct grown answer;
};

struct server {
    struct work *work;
    uint64_t buffer, longest; // bytes of a buffer; of an answer
};

static void session_open(struct server *server, struct session *session) {
    for (unsigned i = 0; i < STATE; i++)
        session->state[i] = work_new(between_doublings(server->work, 32, 2000));
    session->in = work_new(server->buffer);
    session->out = work_new(server->buffer);
}

static void session_close(struct session *session) {
    for (unsigned i = 0; i < STATE; i++)
        free(session->state[i]);
    free(session->in);
    free(session->out);
    grown_end(&session->answer);
    *session = (struct session){0};
}

static void session_serve(struct server *server, struct session *session) {
    void *temporary[TEMPORARY];
    grown_end(&session->answer);
    for (unsigned i = 0; i < TEMPORARY; i++)
        temporary[i] = work_new(between_doublings(server->work, 16, 1000));
    uint64_t length = between_doublings(server->work, PIECE, server->longest);
    while (session->answer.length < length)
        grown_append(&session->answer, PIECE);
    for (unsigned i = 0; i < TEMPORARY; i++)
        free(temporary[i]);
}

void application_sessions(struct work *work) {
    struct server server = {.work = work,
                            .buffer = between_doublings(work, 1000, 60000),
                            .longest = between_doublings(work, 2 * PIECE, 600000)};
    uint64_t count = work->bytes / (2 * server.buffer + server.longest / 4 + STATE * 500) + 2;
    uint64_t steps = count * STEPS_OF_EACH;
    struct session *sessions = work_array(count, sizeof *sessions);
    for (uint64_t i = 0; i < steps && i < STEPS_MOST; i++) {
        struct session *session = &sessions[below(&work->state, count)];
        if (session->in && below(&work->state, CLOSED_EACH) == 0)
            session_close(session);
        if (!session->in)
            session_open(&server, session);
        session_serve(&server, session);
    }
    for (uint64_t i = 0; i < count; i++)
        session_close(&sessions[i]);
    free(sessions);
}
