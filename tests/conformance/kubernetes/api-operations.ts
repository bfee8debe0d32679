/** For tests: the steps that the conformance tests of "API operations" have in common. */
import assert from "node:assert/strict";
import { eventually } from "@kcp-ts/testkit";
import { type Api, mergePatch, type ResponseObject } from "./api.ts";

export interface ApiOperationsOptions {
  /** Of the API: `/apis/flowcontrol.apiserver.k8s.io/v1`. */
  readonly root: string;
  /** Within the root, the namespace included: `namespaces/default/events`. */
  readonly collection: string;
  readonly kind: string;
  /** Beside its metadata. */
  readonly object: object;
  /** What a patch puts into status; no status endpoint is tried if left out. */
  readonly status?: object;
  /**
   * A controller of the server writes the status of what was created: its writes are waited for.
   */
  readonly isObserved?: boolean;
}

const label = { "conformance.example.com/life": "one" };
const selected = "?labelSelector=conformance.example.com%2Flife%3Done";

/** Discovery, create, get, list, watch, patch, update, status, delete, deletecollection. */
export async function exerciseApiOperations(
  api: Api,
  options: ApiOperationsOptions,
): Promise<void> {
  const { root, collection, kind, object } = options;
  const resource = collection.split("/").at(-1) ?? "";
  const path = `${root}/${collection}`;
  await isDiscovered(api, root, resource, kind);

  const named = (name: string) => ({ metadata: { name, labels: label }, ...object });
  for (const name of ["one", "two", "three"]) {
    const created = await api.expectSuccess("POST", path, named(name));
    assert.equal(created.metadata.name, name);
    assert.ok(created.metadata.uid);
  }
  const read = await api.expectSuccess("GET", `${path}/one`);
  assert.equal(read["kind"], kind);
  if (options.isObserved === true) await areObserved(api, path);
  const list = await api.expectSuccess("GET", path + selected);
  assert.deepEqual(list.items?.map(({ metadata }) => metadata.name).sort(), [
    "one",
    "three",
    "two",
  ]);

  const from = list.metadata.resourceVersion;
  const watch = await api.watch(`${path}${selected}&resourceVersion=${from}`);
  const patched = await api.merge(`${path}/one`, {
    metadata: { annotations: { patched: "true" } },
  });
  assert.equal(patched.metadata.annotations?.["patched"], "true");
  const annotations = { ...patched.metadata.annotations, updated: "true" };
  const updated = await api.expectSuccess("PUT", `${path}/one`, {
    ...patched,
    metadata: { ...patched.metadata, annotations },
  });
  assert.equal(updated.metadata.annotations?.["updated"], "true");
  for (const annotation of ["patched", "updated"]) {
    const { type, object } = await watch.next();
    assert.equal(type, "MODIFIED");
    assert.equal(object.metadata.annotations?.[annotation], "true");
  }
  if (options.status !== undefined) await hasStatus(api, `${path}/one`, options.status);
  await api.expectSuccess("DELETE", `${path}/one`);
  for (;;) {
    const { type, object } = await watch.next();
    if (type === "MODIFIED" && options.status !== undefined) continue;
    assert.deepEqual([type, object.metadata.name], ["DELETED", "one"]);
    break;
  }
  watch.close();
  assert.equal((await api.send("GET", `${path}/one`)).status, 404);
  assert.equal((await api.names(path + selected)).length, 2);
  await api.expectSuccess("DELETE", path + selected);
  assert.deepEqual(await api.names(path + selected), []);
}

function areObserved(api: Api, path: string): Promise<void> {
  return eventually(async () => {
    const { items = [] } = await api.expectSuccess("GET", path + selected);
    for (const { metadata, status } of items)
      assert.equal(status?.observedGeneration, metadata["generation"]);
  });
}

async function isDiscovered(api: Api, root: string, resource: string, kind: string): Promise<void> {
  const { resources } = await api.expectSuccess("GET", root);
  const found = (resources as readonly { name: string; kind: string }[]).find(
    ({ name }) => name === resource,
  );
  assert.equal(found?.kind, kind);
  const [, , group, version] = root.split("/");
  if (!root.startsWith("/apis/")) return;
  const { groups } = await api.expectSuccess("GET", "/apis");
  const served = (groups as readonly ResponseObject[]).find(({ name }) => name === group);
  const versions = served?.["versions"] as readonly { version: string }[] | undefined;
  assert.ok(versions?.some((each) => each.version === version));
  assert.equal((await api.expectSuccess("GET", `/apis/${group}`))["name"], group);
}

async function hasStatus(api: Api, path: string, status: object): Promise<void> {
  const at = `${path}/status`;
  const read = await api.expectSuccess("GET", at);
  const patched = await api.expectSuccess("PATCH", at, { status }, mergePatch);
  for (const [member, value] of Object.entries(status))
    assert.deepEqual(patched["status"][member], value);
  const annotations = { ...patched.metadata.annotations, "status-update": "true" };
  const metadata = { ...patched.metadata, annotations };
  const updated = await api.expectSuccess("PUT", at, { ...patched, metadata });
  assert.equal(updated.metadata.uid, read.metadata.uid);
}
