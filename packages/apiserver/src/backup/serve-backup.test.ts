import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { ApiRequest } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";
import type {
  Entry,
  OpenSnapshot,
  Revision,
  SnapshotSource,
  StorageKey,
} from "../storage/index.ts";
import { checkBackup, serveBackup } from "./index.ts";

const master: UserInfo = { username: "shard-admin", groups: ["system:masters"] };

function setup() {
  const closed = { times: 0 };
  const onClose: (() => void)[] = [];
  const request = {
    method: "GET",
    target: "/backup",
    headers: {},
    remoteAddress: "",
    clientCertificate: undefined,
    onClose: (callback: () => void) => onClose.push(callback),
    readBody: async () => new Uint8Array(),
  } satisfies ApiRequest;
  const snapshots: SnapshotSource = {
    openSnapshot: async (): Promise<OpenSnapshot> => ({
      revision: 9 as Revision,
      entries: manyEntries(),
      close: async () => void closed.times++,
    }),
  };
  const leave = () => {
    for (const callback of onClose) callback();
  };
  return { request, snapshots, closed, leave, rooms: { snapshots, clock: systemClock } };
}

async function* manyEntries(): AsyncGenerator<Entry> {
  for (let index = 0; index < 5000; index++) {
    yield {
      key: `/k/${String(index).padStart(6, "0")}` as StorageKey,
      value: new Uint8Array(100),
      createdAt: 1 as Revision,
      modifiedAt: 1 as Revision,
    };
  }
}

describe("GET /backup", () => {
  it("streams a complete backup and releases the snapshot", async () => {
    const { request, closed, rooms: dependencies } = setup();
    const { status, body } = await serveBackup(request, master, dependencies);
    assert.equal(status, 200);
    const summary = await checkBackup(body as AsyncIterable<Uint8Array>);
    assert.deepEqual([summary.entries, summary.revision], [5000, 9]);
    assert.equal(closed.times, 1);
  });

  it("releases the snapshot when the client disconnects before, at and after the first byte", async () => {
    for (const chunks of [0, 1, 2]) {
      const { request, closed, leave, rooms: dependencies } = setup();
      const { body } = await serveBackup(request, master, dependencies);
      const iterator = (body as AsyncGenerator<Uint8Array>)[Symbol.asyncIterator]();
      for (let read = 0; read < chunks; read++) await iterator.next();
      leave();
      await iterator.return?.(undefined);
      assert.equal(closed.times, 1);
    }
  });

  for (const groups of [
    ["system:kcp:admin", "system:authenticated"],
    ["system:authenticated"],
    ["system:unauthenticated"],
    [],
  ]) {
    it(`is forbidden to [${groups}], whatever the authorizer said`, async () => {
      const { request, rooms: dependencies } = setup();
      await assert.rejects(serveBackup(request, { username: "u", groups }, dependencies), {
        code: 403,
        message: /^forbidden: User "u" cannot get path "\/backup": only members of system:masters/,
      });
    });
  }

  it("responds with an error when the store has no snapshots", async () => {
    const { request } = setup();
    const dependencies = { snapshots: undefined, clock: systemClock };
    await assert.rejects(serveBackup(request, master, dependencies), { code: 501 });
  });
});
