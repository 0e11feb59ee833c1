// strings: what do C++ strings cost that are split, sorted, joined and counted in an ordered map?
//
// After the word-frequency task with which languages are compared since Bentley's column of 1986: WS words of
// 1..60 characters are drawn into a text, the text is cut into words again, they are counted in a std::map,
// sorted in a std::vector, and joined back, which grows one string to the whole text. An operation is one
// word.
#include "suite.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

std::string text_of(std::size_t words, std::mt19937_64 &random) {
    std::string text;
    for (std::size_t i = 0; i < words; i++) {
        std::uint64_t number = random() % 5000;
        text += std::string(1 + number % 60, static_cast<char>('a' + number % 23));
        text += ' ';
    }
    return text;
}

std::vector<std::string> words_of(const std::string &text) {
    std::vector<std::string> words;
    for (std::size_t begin = 0, end; (end = text.find(' ', begin)) != std::string::npos; begin = end + 1)
        words.push_back(text.substr(begin, end - begin));
    return words;
}

std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words)
        text = std::move(text) + word + ' ';
    return text;
}

std::uint64_t run(suite_thread *thread) {
    std::mt19937_64 random(thread->random);
    std::uint64_t operations = 0;
    while (operations < thread->share) {
        const std::string text = text_of(thread->settings->working_set, random);
        std::vector<std::string> words = words_of(text);
        std::map<std::string, std::vector<std::string>> groups;
        for (const std::string &word : words)
            groups[word.substr(0, 24)].push_back(word);
        std::sort(words.begin(), words.end());
        if (joined(words).size() != text.size() || groups.empty())
            suite_fail("words got lost");
        operations += words.size();
    }
    return operations;
}

} // namespace

extern "C" const struct suite suite = {{300000, 20000, 1, 1}, 1u << 24, nullptr, run, nullptr};
