/** For tests: tables of rejected objects, and their error messages. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { TestServer } from "../../testing/index.ts";

/** The change of a valid object, and the message after `is invalid: `. */
export type RejectionCase = readonly [change: object, says: string | RegExp];

export function itRejects(
  server: () => TestServer,
  method: "POST" | "PUT",
  path: string,
  good: object,
  refusals: readonly RejectionCase[],
): void {
  for (const [change, says] of refusals) {
    it(`says: ${says}`, async () => {
      const answer = await server().request(method, path, { body: { ...good, ...change } });
      assert.equal(answer.status, 422, answer.text);
      const text = (answer.object.message ?? "").replace(/^.*? is invalid: /s, "");
      if (typeof says === "string") assert.equal(text, says);
      else assert.match(text, says);
    });
  }
}
