/**
 * The number of values that a client may send, at the limit and one beyond, in each way to send
 * them.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { bodyMembersMax, bodyValuesMax } from "../content/index.ts";
import { TestServer } from "../testing/index.ts";
import { objectValuesMax } from "./decode-object.ts";

const path = "/clusters/a/api/v1/namespaces/default/configmaps";

describe("the size of an object", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.close());

  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
  const create = (body: object) => server.request("POST", path, { body });
  /** Unknown fields count like known ones. */
  const ofValues = (name: string, count: number) => {
    const metadata = { name };
    return { metadata, unknown: Array.from({ length: count - 4 }, () => 1) };
  };

  it(`is at most ${objectValuesMax} values, and not one more`, async () => {
    assert.equal((await create(ofValues("most", objectValuesMax))).status, 201);
    const refused = await create(ofValues("more", objectValuesMax + 1));
    assert.equal(refused.status, 413);
    assert.match(refused.text, /Request entity too large: limit is 80000 values/);
  });

  it(`is at most ${bodyMembersMax} members of one object, and not one more`, async () => {
    const data = members(bodyMembersMax);
    assert.equal((await create({ metadata: { name: "wide" }, data })).status, 201);
    const refused = await create({ metadata: { name: "wider" }, data: { ...data, one: "v" } });
    assert.equal(refused.status, 413);
    assert.match(refused.text, /limit is 20000 members of one object/);
  });

  it("does not exceed the limit by patches or applies", async () => {
    await create({ metadata: { name: "growing" }, data: members(bodyMembersMax - 1) });
    const grow = (type: "merge" | "json" | "apply", body: unknown) =>
      server.patch(`${path}/growing?fieldManager=m`, type, body as object);
    const patches = [
      await grow("merge", { data: { one: "v", two: "v" } }),
      await grow("json", [
        { op: "add", path: "/data/one", value: "v" },
        { op: "add", path: "/data/two", value: "v" },
      ]),
    ];
    for (const answer of patches) {
      assert.equal(answer.status, 413, answer.text.slice(0, 300));
      assert.match(answer.text, /limit is 20000 members of one object/);
    }
    assert.equal((await grow("merge", { data: { one: "v" } })).status, 200);
  });

  it(`does not count managedFields, unless the body has more than ${bodyValuesMax} values`, async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`f:k${i}`, {}]));
    const managers = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        manager: `m${i}`,
        operation: "Update",
        apiVersion: "v1",
        time: "2026-01-01T00:00:01Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": fields(15_000) },
      }));
    const metadata = (name: string, count: number) => ({ name, managedFields: managers(count) });
    const data = members(1_000);
    assert.equal((await create({ metadata: metadata("owned", 6), data })).status, 201);
    const refused = await create({ metadata: metadata("overrun", 7), data });
    assert.equal(refused.status, 413);
    assert.match(refused.text, /limit is 100000 values/);
  });
});
