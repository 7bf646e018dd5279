#include "generate/cassette/secrets.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace specgen {
namespace {

TEST(Secrets, only_harmless_headers_are_kept) {
  HttpHeaders headers{{"Authorization", "Bearer sk-abcdefgh"}, {"X-Api-Key", "sk-abcdefgh"},
                      {"Cookie", "session=abcdefgh"},          {"Set-Cookie", "session=abcdefgh"},
                      {"X-Something-New", "who knows"},        {"Content-Type", "application/json"},
                      {"X-RateLimit-Remaining-Requests", "12"}};
  HttpHeaders kept{{"content-type", "application/json"}, {"x-ratelimit-remaining-requests", "12"}};
  EXPECT_EQ(harmless_headers(headers), kept);
}

TEST(Secrets, only_harmless_query_parameters_are_kept) {
  EXPECT_EQ(harmless_target("/v1/models"), "/v1/models");
  EXPECT_EQ(harmless_target("/v1/models?key=abcdefgh"), "/v1/models");
  EXPECT_EQ(harmless_target("/v1/x?key=abcdefgh&limit=3&api-version=1"),
            "/v1/x?limit=3&api-version=1");
}

TEST(Secrets, a_url_is_shown_without_user_and_query) {
  EXPECT_EQ(harmless_url("https://me:secret@host:1/v1?key=x"), "https://host:1/v1");
  EXPECT_EQ(harmless_url("http://host/a@b"), "http://host/a@b");
}

TEST(Secrets, a_key_is_replaced_everywhere) {
  auto secrets = secrets_in({{"Authorization", "Bearer sk-abcdefgh"}, {"Accept", "long-enough"}},
                            "/v1?api_key=query-key-1", R"({"api_key": "body-key-1", "x": "y"})");
  EXPECT_EQ(
      without_secrets("wrong key sk-abcdefgh, query-key-1 or body-key-1; long-enough", secrets),
      "wrong key ***********, *********** or **********; long-enough");
}

TEST(Secrets, common_terms_are_not_replaced) {
  auto secrets =
      secrets_in({{"x-stainless-lang", "python3.12"}, {"Authorization", "Bearer none"}}, "/v1",
                 R"({"tokenizer": "glm-tokens", "prompt_cache_key": "same-for-all"})");
  EXPECT_TRUE(secrets.empty());
}

TEST(SecretRedactor, finds_a_secret_split_over_pieces) {
  Random random(5);
  const std::string secret = "sk-secret-0123456789";
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 5; ++i) {
      text += std::string(random.below(30), 'a');
      if (random.chance(0.5)) text += secret;
    }
    SecretRedactor redactor({secret});
    std::string came;
    std::size_t pieces_in = 0, pieces_out = 0;
    auto collect = [&](const std::vector<RecordedPiece>& pieces) {
      for (const RecordedPiece& piece : pieces) {
        EXPECT_EQ(piece.after, Duration(pieces_out));
        came += piece.bytes;
        ++pieces_out;
      }
    };
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 1 + random.below(12);
      redactor.add({Duration(pieces_in++), text.substr(at, size)});
      collect(redactor.take());
      at += size;
    }
    collect(redactor.rest());
    EXPECT_EQ(came, without_secrets(text, {secret}));
    EXPECT_EQ(came.find(secret), std::string::npos);
    EXPECT_EQ(pieces_in, pieces_out);
  }
}

TEST(SecretRedactor, holds_nothing_back_without_secrets) {
  SecretRedactor redactor({});
  redactor.add({Duration(1), "abc"});
  EXPECT_EQ(redactor.take().size(), 1u);
}

}  // namespace
}  // namespace specgen
