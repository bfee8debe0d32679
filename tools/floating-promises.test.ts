/**
 * The lint refuses promises whose failure reaches no code, also those that come from another
 * package.
 *
 * Biome's rules for them infer types within a package only; oxlint asks TypeScript's checker.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { runCommand } from "./testing/run-step.ts";

const checkout = resolve(import.meta.dirname, "../..");

/** What the lint of this checkout says about a file that imports its packages: rules with lines. */
async function lint(t: TestContext, lines: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "lint-"));
  t.after(() => rm(folder, { recursive: true }));
  await symlink(join(checkout, "node_modules"), join(folder, "node_modules"));
  const tsconfig = { extends: join(checkout, "tsconfig.base.json"), include: ["planted.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(folder, "planted.ts"), lines.join("\n"));
  const config = join(checkout, ".oxlintrc.json");
  const { ok, output } = await runCommand(join(checkout, "node_modules/.bin/oxlint"), [
    ...["--config", config, "--format", "unix", join(folder, "planted.ts")],
  ]);
  const found = [...output.matchAll(/planted\.ts:(\d+):\d+: .*\(([\w-]+)\)\]$/gm)];
  assert.equal(ok, found.length === 0, output);
  return found.map(([, line, rule]) => `${line} ${rule}`).sort();
}

describe("the lint of promises", () => {
  it("refuses a promise of another package that floats", async (t) => {
    const found = await lint(t, [
      'import type { LeaderElector } from "@kcp-ts/sdk";',
      "export function start(elector: LeaderElector, signal: AbortSignal): void {",
      "  elector.run(signal, async () => {});",
      "}",
    ]);
    assert.deepEqual(found, ["3 no-floating-promises"]);
  });

  it("refuses an async function whose caller drops its promise", async (t) => {
    const found = await lint(t, [
      'import type { Client } from "@kcp-ts/sdk";',
      "export function start(clients: Client[], close: (client: Client) => Promise<void>): void {",
      "  clients.forEach(async (client) => { await close(client); });",
      "  setTimeout(() => Promise.all(clients.map(close)), 1);",
      "}",
    ]);
    assert.deepEqual(found, ["3 no-misused-promises", "4 no-misused-promises"]);
  });

  it("accepts promises that are awaited, handled, or voided by name", async (t) => {
    const found = await lint(t, [
      "export async function start(run: () => Promise<void>): Promise<void> {",
      "  void run();",
      "  run().catch((error) => process.stderr.write(String(error)));",
      "  await run();",
      "}",
    ]);
    assert.deepEqual(found, []);
  });
});
