/**
 * Goal: concurrent writes that create the same object all succeed or conflict properly, and quota
 * is charged for the stored object only.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { MemoryStorage } from "../storage/memory/index.ts";
import { type AnyObject, FaultyStorage, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1/namespaces/n";
const masters = { user: "masters" } as const;

describe("concurrent creations", () => {
  let test: TestServer;
  beforeEach(async () => {
    test = await TestServer.start();
    const body = { metadata: { name: "n" } };
    await test.requestOk("POST", "/clusters/a/api/v1/namespaces", { ...masters, body });
    for (const name of ["q", "also"]) await quota(test, name);
  });
  afterEach(() => test.close());

  const configMap = (data: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "x" },
    data,
  });
  const apply = (manager: string, data: object, query = "") =>
    test.patch(`${base}/configmaps/x?fieldManager=${manager}${query}`, "apply", configMap(data), {
      ...masters,
    });
  const five = [1, 2, 3, 4, 5];

  it("concurrent applies of a new object all succeed, and quota is charged once", async () => {
    const answers = await Promise.all(five.map((n) => apply(`m${n}`, { [`k${n}`]: "v" })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 201]);
    const { data } = await test.requestOk("GET", `${base}/configmaps/x`, masters);
    assert.deepEqual(Object.keys(data ?? {}).sort(), ["k1", "k2", "k3", "k4", "k5"]);
    assert.deepEqual(await used(test), ["1", "1"]);
  });

  it("concurrent applies of a new object with different values fail with apply conflicts", async () => {
    const answers = await Promise.all(five.map((n) => apply(`m${n}`, { same: String(n) })));
    const conflicts = answers.filter(({ status }) => status === 409);
    assert.equal(conflicts.length, 4);
    for (const { object } of conflicts)
      assert.match(object.message ?? "", /^Apply failed with 1 conflict: conflict with "m\d"/);
    assert.deepEqual(await used(test), ["1", "1"]);
  });

  it("applies concurrent with a create charge for one object", async () => {
    const created = test.request("POST", `${base}/configmaps`, { ...masters, body: configMap() });
    const answers = await Promise.all([...five.map((n) => apply(`m${n}`, { same: "v" })), created]);
    for (const { status, text } of answers.slice(0, 5))
      assert.ok(status === 200 || status === 201, text);
    assert.deepEqual(await used(test), ["1", "1"]);
  });

  it("concurrent dry runs of apply all succeed, and charge nothing", async () => {
    const answers = await Promise.all(
      five.map((n) => apply(`m${n}`, { same: "v" }, "&dryRun=All")),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 201, 201],
    );
    assert.deepEqual(await used(test), ["0", "0"]);
  });

  it("concurrent updates that create a Lease create one object, and quota is charged once", async () => {
    await quota(test, "leases", { "count/leases.coordination.k8s.io": "9" });
    const at = "/clusters/a/apis/coordination.k8s.io/v1/namespaces/n/leases/x";
    const body = { metadata: { name: "x" }, spec: { holderIdentity: "me" } };
    const answers = await Promise.all(
      five.map(() => test.request("PUT", at, { ...masters, body })),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 1);
    for (const { status, object } of answers)
      if (status !== 201) assert.match(object.message ?? "", /must be specified for an update/);
    const [, , count] = await used(test);
    assert.equal(count, "1");
  });

  it("applies that fail release their quota", async () => {
    const wrong = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
    const at = `${base}/configmaps/x?fieldManager=m`;
    const body = { ...wrong, metadata: { name: "x", labels: { "no good": "!" } } };
    assert.equal((await test.patch(at, "apply", body, masters)).status, 422);
    await test.requestOk("DELETE", "/clusters/a/api/v1/namespaces/n", masters);
    assert.equal((await test.patch(at, "apply", wrong, masters)).status, 403);
    assert.deepEqual(await used(test), ["0", "0"]);
  });
});

describe("a store that stores quotas and rejects the object", () => {
  for (const how of ["create", "apply"])
    it(`leaves no quota charged by a ${how}`, async () => {
      const storage = new FaultyStorage(new MemoryStorage());
      const test = await TestServer.start({ storage });
      const body = { metadata: { name: "n" } };
      await test.requestOk("POST", "/clusters/a/api/v1/namespaces", { ...masters, body });
      await quota(test, "q");
      storage.refuse(/\/configmaps\//);
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
      const answer =
        how === "create"
          ? await test.request("POST", `${base}/configmaps`, { ...masters, body: object })
          : await test.patch(`${base}/configmaps/x?fieldManager=m`, "apply", object, masters);
      assert.equal(answer.status, 500);
      assert.deepEqual(await used(test), ["0"]);
      await test.close();
    });
});

/** Creates a ResourceQuota with the status that its controller would set. */
async function quota(
  test: TestServer,
  name: string,
  hard: Record<string, string> = { configmaps: "9" },
): Promise<void> {
  const body = { metadata: { name }, spec: { hard } };
  const made = await test.requestOk("POST", `${base}/resourcequotas`, { ...masters, body });
  const zero = Object.fromEntries(Object.keys(hard).map((key) => [key, "0"]));
  await test.requestOk("PUT", `${base}/resourcequotas/${name}/status`, {
    ...masters,
    body: { ...made, status: { hard, used: zero } },
  });
}

async function used(test: TestServer): Promise<(string | undefined)[]> {
  const { items } = await test.get(`${base}/resourcequotas`, masters);
  const order = ["also", "q", "leases"];
  const nameOf = ({ metadata }: AnyObject) => order.indexOf(metadata.name ?? "");
  return items
    .toSorted((one, other) => nameOf(one) - nameOf(other))
    .map(({ status }) => Object.values((status as { used: Record<string, string> }).used)[0]);
}
