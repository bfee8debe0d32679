/**
 * The conditions of a definition over its lifecycle, in their order and with Kubernetes' messages.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AnyObject, definitionsPath, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * Every state of the definition from now on until it is deleted, with the conditions that changed.
 */
async function life(server: TestServer, path: string, begin: () => Promise<unknown>) {
  const watch = await server.watch(`${path}?watch=1`);
  await begin();
  const seen: string[] = [];
  for (;;) {
    const [event] = await watch.take(1);
    if (event === undefined) break;
    const { conditions = [] } = (event.object["status"] ?? {}) as { conditions?: Condition[] };
    for (const { type, status, reason, message } of conditions) {
      const text = `${type} ${status} ${reason}: ${message}`;
      if (!seen.includes(text)) seen.push(text);
    }
    if (event.type === "DELETED") break;
    if (isServed(event.object))
      await server.requestOk("DELETE", `${path}/crontabs.stable.example.com`);
  }
  await watch.leave();
  return seen;
}

function isServed(object: AnyObject): boolean {
  const text = JSON.stringify(object["status"]);
  return (
    text.includes('"type":"Established","status":"True"') &&
    object.metadata["deletionTimestamp"] === undefined
  );
}

describe("a definition, from its creation to its deletion", () => {
  it("has its names accepted, is established, and loses its objects", async () => {
    const server = await TestServer.start();
    const path = `/clusters/a${definitionsPath}`;
    const seen = await life(server, path, () =>
      server.requestOk("POST", path, { body: cronTabs() }),
    );
    assert.deepEqual(
      seen.filter((text) => !text.startsWith("Terminating True InstanceDeletionInProgress")),
      [
        "NamesAccepted True NoConflicts: no conflicts found",
        "Established False Installing: the initial names have been accepted",
        "Established True InitialNamesAccepted: the initial names have been accepted",
        "Terminating True InstanceDeletionPending: CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
      ],
    );
    await server.close();
  });

  it("shows its last condition while another finalizer keeps it, without its own", async () => {
    const server = await TestServer.start();
    const path = `/clusters/a${definitionsPath}`;
    const body = cronTabs();
    const watch = await server.watch(`${path}?watch=1`);
    await server.requestOk("POST", path, {
      body: { ...body, metadata: { ...body.metadata, finalizers: ["example.com/kept"] } },
    });
    let writes = 0;
    for (let isDeleted = false; ; ) {
      const [event] = await watch.take(1);
      assert.ok(event !== undefined && event.type !== "DELETED");
      const { metadata, status } = event.object;
      if (isDeleted) writes++;
      if (JSON.stringify(status).includes("InstanceDeletionCompleted")) {
        assert.deepEqual(metadata["finalizers"], ["example.com/kept"]);
        break;
      }
      if (!isServed(event.object) || isDeleted) continue;
      isDeleted = true;
      await server.requestOk("DELETE", `${path}/crontabs.stable.example.com`);
    }
    assert.equal(writes, 2, "the deletion, and its end");
    await watch.leave();
    await server.close();
  });
});
