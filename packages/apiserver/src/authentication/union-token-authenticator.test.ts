import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundedCacheMax, UnionTokenAuthenticator } from "./bearer-token.ts";
import { AuthenticationError } from "./errors.ts";
import type { TokenAuthenticator } from "./index.ts";

/** Knows the tokens of a set under its own name, and counts its calls. */
class Knower implements TokenAuthenticator {
  readonly tokens: Set<string>;
  asked = 0;
  isRefusing = false;
  isSlow = false;
  readonly #name: string;

  constructor(name: string, ...tokens: string[]) {
    this.#name = name;
    this.tokens = new Set(tokens);
  }

  authenticateToken(token: string) {
    this.asked++;
    if (this.isRefusing) throw new AuthenticationError("invalid-token", `${this.#name} refuses`);
    const user = this.tokens.has(token) ? { username: this.#name, groups: [] } : undefined;
    return this.isSlow ? Promise.resolve(user) : user;
  }
}

describe("the authenticator of a token", () => {
  const three = () => {
    const knowers = [
      new Knower("a", "x"),
      new Knower("b", "x", "y"),
      new Knower("c", "z"),
    ] as const;
    const tokens = new UnionTokenAuthenticator(knowers);
    const who = async (token: string) => (await tokens.authenticateToken(token))?.username;
    return { knowers, who };
  };

  it("is the first that knows a new token", async () => {
    const { who } = three();
    assert.deepEqual(await Promise.all(["x", "y", "z", "?"].map(who)), ["a", "b", "c", undefined]);
  });

  it("is called alone when the token comes again, and every time", async () => {
    const { who, knowers } = three();
    for (let time = 0; time < 5; time++) assert.equal(await who("z"), "c");
    assert.deepEqual(
      knowers.map(({ asked }) => asked),
      [1, 1, 5],
    );
  });

  it("is replaced at once when it no longer knows the token and another one does", async () => {
    const { who, knowers } = three();
    assert.equal(await who("z"), "c");
    knowers[2].tokens.delete("z");
    assert.equal(await who("z"), undefined);
    knowers[1].tokens.add("z");
    assert.equal(await who("z"), "b");
    assert.equal(await who("z"), "b");
  });

  it("rejects a token that it accepted before, unless another one accepts it", async () => {
    const { who, knowers } = three();
    assert.equal(await who("z"), "c");
    knowers[2].isRefusing = true;
    await assert.rejects(who("z"), /c refuses/);
    knowers[0].tokens.add("z");
    assert.equal(await who("z"), "a");
  });

  it("is found among asynchronous ones, too", async () => {
    const { who, knowers } = three();
    for (const knower of knowers) knower.isSlow = true;
    for (let time = 0; time < 3; time++) assert.equal(await who("z"), "c");
    knowers[2].tokens.delete("z");
    assert.equal(await who("z"), undefined);
  });

  it("is evicted from the cache when too many tokens were used since, and found again", async () => {
    const { who, knowers } = three();
    assert.equal(await who("z"), "c");
    for (let at = 0; at < boundedCacheMax; at++) {
      knowers[1].tokens.add(`t${at}`);
      assert.equal(await who(`t${at}`), "b");
    }
    const asked = knowers[0].asked;
    assert.equal(await who("z"), "c");
    assert.equal(knowers[0].asked, asked + 1);
  });
});
