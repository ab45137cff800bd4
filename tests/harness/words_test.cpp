// Words as a POSIX shell takes them apart, quoting as it needs it, and text that is safe to show.
#include "harness/words.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <memory>

namespace cachet {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(const std::string& text) {
  const auto result = split_words(text);
  EXPECT_TRUE(result) << text;
  return result ? *result : std::vector<std::string>{};
}

TEST(SplitWords, FollowsTheShell) {
  EXPECT_THAT(words("a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("'a b'c \"d 'e'\" ''"), ElementsAre("a bc", "d 'e'", ""));
  EXPECT_THAT(words(R"("a\"b\$c\d" a\ b '\n')"), ElementsAre("a\"b$c\\d", "a b", "\\n"));
  EXPECT_THAT(words("$HOME *.c ~"), ElementsAre("$HOME", "*.c", "~"));
  EXPECT_THAT(words("a\\\nb"), ElementsAre("ab"));
  EXPECT_TRUE(words(" ").empty());
}

TEST(SplitWords, RefusesWhatNeverCloses) {
  EXPECT_FALSE(split_words("'a"));
  EXPECT_FALSE(split_words("\"a\\\""));
  EXPECT_FALSE(split_words("a\\"));
}

TEST(QuoteWord, ComesBackFromSplittingAndFromARealShell) {
  for (const std::string word :
       {"", "plain", "a b", "it's", "\"$HOME\"", "a\\b", "*?[x]", "~", "a\nb", "process:python3 'a b'.py/static", "#x", "!x"}) {
    EXPECT_THAT(words(quote_word(word)), ElementsAre(word));
    const std::unique_ptr<FILE, int (*)(FILE*)> shell(popen(("printf %s " + quote_word(word)).c_str(), "r"), pclose);
    std::array<char, 256> out{};
    const std::size_t size = fread(out.data(), 1, out.size(), shell.get());
    EXPECT_EQ(std::string(out.data(), size), word);
  }
}

TEST(QuoteWord, LeavesSafeWordsBare) {
  EXPECT_EQ(join_words({"./cachet", "replay", "out/a+b-1.case", "a b"}), "./cachet replay out/a+b-1.case 'a b'");
}

TEST(Printable, KeepsTextAndShowsTheRest) {
  EXPECT_EQ(printable("grüße 漢字 🎲\n\t"), "grüße 漢字 🎲\n\t");
  EXPECT_EQ(printable("\x1b[2J\r\x7f"), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(printable("\xc0\x80 \xed\xa0\x80 \xf5 \xe2\x82"), "\\xc0\\x80 \\xed\\xa0\\x80 \\xf5 \\xe2\\x82");
  EXPECT_EQ(printable("\xc2\x9b \xef\xbf\xbe"), "\\xc2\\x9b \\xef\\xbf\\xbe");
}

}  // namespace
}  // namespace cachet
