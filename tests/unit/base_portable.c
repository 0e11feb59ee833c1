/* The same where base.h does without the instructions of x86-64's vectors, as on other processors. */
#undef __SSE2__
#include "base.c"
