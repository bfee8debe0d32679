/** For tests: a table of requests that are refused, each for the reason that it is about. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { type AttackFixture, type RawRequest, victimSecret } from "./attack-fixture.ts";

export interface Attempt {
  readonly who: UserInfo;
  readonly request: readonly [method: string, path: string];
  readonly sent?: RawRequest;
  readonly code?: number;
  /** In the refusal. */
  readonly message: RegExp;
}

export function attempts(
  besieged: () => AttackFixture,
  table: Readonly<Record<string, Attempt>>,
): void {
  for (const [title, { who, request, sent, code = 403, message }] of Object.entries(table)) {
    it(title, async () => {
      const { status, text } = await besieged().send(who, ...request, sent);
      assert.equal(status, code, text);
      assert.match(text, message);
      assert.ok(!text.includes(victimSecret), text);
    });
  }
}
