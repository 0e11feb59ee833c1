// Much for a compiler to allocate: containers, algorithms, and templates that nest deeply.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct Nested {
    using Type = std::map<std::string, std::tuple<typename Nested<N - 1>::Type, std::array<int, N>>>;
    static std::size_t weigh(const Type &value) {
        std::size_t sum = N;
        for (const auto &[key, pair] : value)
            sum += key.size() + Nested<N - 1>::weigh(std::get<0>(pair));
        return sum;
    }
};

template <> struct Nested<0> {
    using Type = std::vector<std::unique_ptr<std::string>>;
    static std::size_t weigh(const Type &value) {
        return value.size();
    }
};

template <std::size_t... I> constexpr auto squares(std::index_sequence<I...>) {
    return std::array<std::size_t, sizeof...(I)>{(I * I)...};
}

template <std::size_t N> std::size_t visit(std::size_t from) {
    using Any = std::variant<int, double, std::string, std::vector<std::size_t>>;
    constexpr auto table = squares(std::make_index_sequence<N>());
    std::unordered_map<std::string, Any> values;
    for (std::size_t i = 0; i < N; ++i)
        values.emplace(std::to_string(i), std::vector<std::size_t>(table.begin(), table.begin() + i));
    std::size_t sum = from;
    for (auto &[key, value] : values)
        sum += std::visit(
            [](auto &held) -> std::size_t {
                if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>)
                    return static_cast<std::size_t>(held);
                else
                    return held.size();
            },
            value);
    if constexpr (N > 8)
        return visit<N - 8>(sum);
    else
        return sum;
}

int main(int argc, char **argv) {
    std::vector<std::function<std::size_t(std::size_t)>> steps = {visit<48>, visit<45>};
    Nested<10>::Type nested;
    std::size_t sum = Nested<10>::weigh(nested) + static_cast<std::size_t>(argc);
    for (const auto &step : steps)
        sum = step(sum);
    std::vector<std::string> words(argv, argv + argc);
    std::sort(words.begin(), words.end(), std::greater<>());
    sum += static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [](const std::string &word) {
        return word.find('-') != std::string::npos;
    }));
    return static_cast<int>(sum & 127);
}
