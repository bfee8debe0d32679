/** The judge is judged: what must be seen is seen, and what must not count does not. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareResponses } from "./compare.ts";
import { corpus } from "./corpus/index.ts";
import type { CorpusResponse } from "./corpus-request.ts";
import { expectedDifferences } from "./expected-differences.ts";
import { normalize } from "./normalize.ts";

const answer = (body: unknown, status = 200, headers = {}): CorpusResponse => ({
  status,
  headers,
  body,
});
const places = (expected: unknown, actual: unknown) =>
  compareResponses(normalize(answer(expected)), normalize(answer(actual))).map(({ at }) => at);

describe("the comparison", () => {
  it("sees what is missing, added or another, at its place", () => {
    assert.deepEqual(places({ a: { b: 1, c: [1] } }, { a: { b: 2, c: [1, 2], d: null } }), [
      "body.a.b",
      "body.a.c.1",
      "body.a.d",
    ]);
    assert.deepEqual(places({ a: [] }, { a: {} }), ["body.a"]);
    assert.deepEqual(places({ a: 1 }, { a: "1" }), ["body.a"]);
  });

  it("sees headers that say something", () => {
    const [plain, warned] = [{}, { warning: "299 - x", date: "now" }].map((headers) =>
      normalize(answer("", 200, headers)),
    ) as [CorpusResponse, CorpusResponse];
    assert.deepEqual(
      compareResponses(plain, warned).map(({ at }) => at),
      ["headers.warning"],
    );
  });

  it("says no more of an answer of another status", () => {
    const found = compareResponses(answer({ message: "a" }, 404), answer({ message: "b" }, 409));
    assert.deepEqual(found, [{ at: "status", expected: "404 a", actual: "409 b" }]);
  });

  it("does not see what differs from run to run", () => {
    const object = (n: number) => ({
      metadata: {
        generateName: "a-",
        name: `a-abcd${n}`,
        uid: `00000000-0000-4000-8000-00000000000${n}`,
        resourceVersion: `${n}`,
        creationTimestamp: `2026-11-16T00:00:0${n}Z`,
        ...(n === 1 ? {} : { annotations: { "kcp.io/cluster": "root" } }),
      },
    });
    assert.deepEqual(places(object(1), object(2)), []);
  });

  it("sees that two identities are one, and times and versions that are none", () => {
    const uids = (a: number, b: number) =>
      [a, b].map((n) => ({ uid: `00000000-0000-4000-8000-00000000000${n}` }));
    assert.deepEqual(places(uids(1, 2), uids(3, 3)), ["body.1.uid"]);
    assert.deepEqual(places({ resourceVersion: "5" }, { resourceVersion: "" }), [
      "body.resourceVersion",
    ]);
    assert.deepEqual(
      places({ renewTime: "2001-01-01T00:00:00Z" }, { renewTime: "2001-01-02T00:00:00Z" }),
      ["body.renewTime"],
    );
  });
});

describe("the corpus", () => {
  it("is large, and its topics have names of their own", () => {
    assert.ok(corpus.flatMap(({ requests }) => requests).length >= 300);
    assert.equal(new Set(corpus.map(({ name }) => name)).size, corpus.length);
  });

  it("has every exchange of which a difference is meant", () => {
    for (const { topic, requests } of expectedDifferences) {
      const names = corpus.find(({ name }) => name === topic)?.requests.map(({ name }) => name);
      for (const name of requests) assert.ok(names?.includes(name), `${topic}: ${name}`);
    }
  });
});
