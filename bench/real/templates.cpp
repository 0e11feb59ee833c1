// g++: what the compiler is given. SCALE classes are instantiated from nested templates and standard containers, so
// that most of the work is in the front end's and the optimizer's data structures. It is compiled, never run.
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

template <int N> struct Record {
    std::tuple<int, std::string, std::vector<std::pair<int, Record<N - 1> *>>> fields;
    std::map<int, std::function<int(int)>> handlers;

    int handle(int value) {
        handlers[N] = [this](int x) { return x + static_cast<int>(std::get<1>(fields).size()) * N; };
        std::get<2>(fields).push_back({value, nullptr});
        return handlers[N](value) + static_cast<int>(std::get<2>(fields).size());
    }
};

template <> struct Record<0> {
    int handle(int value) {
        return value;
    }
};

template <int... N> int all(std::integer_sequence<int, N...>) {
    return (Record<N>{}.handle(N) + ...);
}

int main() {
    return all(std::make_integer_sequence<int, SCALE>{});
}
