import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client, InProcessTransport } from "@kcp-ts/sdk";
import { syncTargetKind } from "./sync-target.ts";
import {
  type StatusWriterName,
  statusWriters,
  writeSyncTargetStatus,
} from "./sync-target-status.ts";

describe("the writers of a SyncTarget's status", () => {
  for (const [mode, absent] of [
    ["Push", ["registration", "agent"]],
    ["Pull", ["registrationInPushMode"]],
  ] as const)
    it(`no two of them write the same field or condition in ${mode} mode`, () => {
      const seen = new Map<string, string>();
      for (const [name, { fields, conditions }] of Object.entries(statusWriters)) {
        if ((absent as readonly string[]).includes(name)) continue;
        for (const field of [...fields, ...conditions]) {
          assert.equal(seen.get(field), undefined, `${field} of ${name}`);
          seen.set(field, name);
        }
      }
    });

  it("every field of the status has a writer", () => {
    const schema = syncTargetKind.schema as {
      properties: { status: { properties: Record<string, unknown> } };
    };
    const written = new Set(Object.values(statusWriters).flatMap(({ fields }) => [...fields]));
    for (const field of Object.keys(schema.properties.status.properties))
      assert.ok(field === "conditions" || written.has(field as never), field);
  });

  it("a write of another writer's field or condition is rejected before it is sent", async () => {
    const transport = new InProcessTransport(() => assert.fail("nothing is sent"));
    const client = new Client({ transport });
    const target = { metadata: { name: "east", uid: "1" } };
    const { signal } = new AbortController();
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const condition = { status: "True", reason: "R", message: "", lastTransitionTime } as const;
    const ready = { conditions: [{ type: "Ready", ...condition }] };
    for (const [writer, status] of [
      ["scheduler", { version: "v1" }],
      ["registration", { capacity: {} }],
      ["agent", ready],
    ] as const)
      await assert.rejects(
        writeSyncTargetStatus({ client, target, signal }, writer as StatusWriterName, status),
        /does not write/,
      );
  });
});
