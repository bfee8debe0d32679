import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseCsv } from "./csv.ts";
import { AuthenticationConfigurationError, hashToken, parseTokenFile } from "./index.ts";

describe("a token file", () => {
  it("has a token, a user, a uid and groups in every line", () => {
    const text = [
      'abc,alice,uid-1,"developers,testers"',
      "",
      "def,bob,uid-2,developers",
      "ghi,carol,",
      '"j,k","dan ""the man""",uid-4,""',
    ].join("\r\n");
    assert.deepEqual(parseTokenFile(text, "tokens.csv"), [
      {
        tokenHash: hashToken("abc"),
        user: { username: "alice", uid: "uid-1", groups: ["developers", "testers"] },
      },
      {
        tokenHash: hashToken("def"),
        user: { username: "bob", uid: "uid-2", groups: ["developers"] },
      },
      { tokenHash: hashToken("ghi"), user: { username: "carol", groups: [] } },
      {
        tokenHash: hashToken("j,k"),
        user: { username: 'dan "the man"', uid: "uid-4", groups: [] },
      },
    ]);
  });

  it("may be empty", () => {
    assert.deepEqual(parseTokenFile("", "tokens.csv"), []);
    assert.deepEqual(parseTokenFile("\n\r\n\n", "tokens.csv"), []);
  });

  const good = 'secret,alice,uid,"a,b"\n';
  const malformed: readonly (readonly [string, string, RegExp])[] = [
    ["too few columns", `${good}secret2,bob`, /line 2: at least 3 columns .* found 2/],
    ["groups without quotes", `${good}\nsecret2,bob,uid,a,b`, /line 3: 5 columns, .*"a,b"/],
    ["an empty token", `${good},bob,uid`, /line 2: the token is empty/],
    ["an empty user name", `${good}secret2,,uid`, /line 2: the user name is empty/],
    ["a token twice", `${good}\n${good}`, /line 3: the token is that of line 1/],
    ["an open quote", `${good}secret2,bob,uid,"a,b\n`, /line 2: a quoted field is not closed/],
    ["text behind a quote", `${good}secret2,bob,uid,"a"b`, /line 2: text behind a closing quote/],
    ["a quote in a plain field", `${good}secret2,b"ob,uid`, /line 2: a quote inside a field/],
    ["a fault behind a long field", `secret,alice,"u\nid"\nx`, /line 3: at least 3 columns/],
  ];
  for (const [title, text, message] of malformed) {
    it(`is rejected with its name and line, and without tokens, for ${title}`, () => {
      assert.throws(
        () => parseTokenFile(text, "tokens.csv"),
        (error: unknown) =>
          error instanceof AuthenticationConfigurationError &&
          error.message.startsWith("token file tokens.csv, ") &&
          message.test(error.message) &&
          !error.message.includes("secret"),
      );
    });
  }
});

describe("comma-separated values", () => {
  it("are parsed as they were written, with any content", () => {
    const field = fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", " ", "ü"), maxLength: 6 });
    const record = fc.array(field, { minLength: 2, maxLength: 4 });
    const write = (text: string) =>
      /[,"\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    fc.assert(
      fc.property(fc.array(record), fc.boolean(), (records, lastLineEnds) => {
        const lines = records.map((fields) => fields.map(write).join(","));
        const text = lines.join("\n") + (lastLineEnds ? "\n" : "");
        const read = parseCsv(text);
        assert.deepEqual(
          read.map(({ fields }) => fields),
          records,
        );
        assert.deepEqual(
          read.map(({ line }) => line),
          lines.map((_, at) => lines.slice(0, at).join("\n").split("\n").length + (at > 0 ? 1 : 0)),
        );
      }),
    );
  });
});
