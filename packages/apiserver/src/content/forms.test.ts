/** The forms of a response: Tables, metadata, and the headers of every response. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
const partial = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };
const partialList = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };

interface Table extends AnyObject {
  readonly columnDefinitions: { name: string; type: string; format: string; priority: number }[];
  readonly rows: { cells: unknown[]; object?: AnyObject }[];
}

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  for (const name of ["x", "y"]) {
    await server.requestOk("POST", configmaps, {
      body: { metadata: { name }, data: { a: "1" }, binaryData: { b: "YQ==" } },
    });
  }
  await server.requestOk("POST", `${base}/namespaces/default/secrets`, {
    body: { metadata: { name: "s" }, stringData: { a: "1" } },
  });
  server.clock.advance(125_000);
});
after(() => server.close());

describe("tables", () => {
  const tableOf = async (path: string): Promise<Table> => {
    const answer = await server.get(path, { headers: table });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers["content-type"], "application/json");
    return answer.object as Table;
  };

  const columns: [path: string, names: string[], cells: unknown[]][] = [
    [configmaps, ["Name", "Data", "Age"], ["x", 2, "2m5s"]],
    [`${base}/secrets`, ["Name", "Type", "Data", "Age"], ["s", "Opaque", 1, "2m5s"]],
    [`${base}/namespaces`, ["Name", "Status", "Age"], ["default", "Active", "2m5s"]],
  ];
  for (const [path, names, cells] of columns) {
    it(`of ${path} has the columns ${names.join()}`, async () => {
      const { kind, apiVersion, columnDefinitions, rows } = await tableOf(path);
      assert.deepEqual([kind, apiVersion], ["Table", "meta.k8s.io/v1"]);
      assert.deepEqual(
        columnDefinitions.map(({ name }) => name),
        names,
      );
      assert.equal(columnDefinitions[0]?.format, "name");
      assert.deepEqual(rows[0]?.cells, cells);
    });
  }

  it("have the list's resourceVersion, continue token and count", async () => {
    const list = await server.get(`${configmaps}?limit=1`);
    const { metadata, rows } = await tableOf(`${configmaps}?limit=1`);
    assert.deepEqual(metadata, list.object.metadata);
    assert.equal(rows.length, 1);
    assert.equal(metadata.remainingItemCount, 1);
  });

  it("of an empty collection have columns and an empty list of rows", async () => {
    const { rows, columnDefinitions } = await tableOf(`${base}/namespaces/none/configmaps`);
    assert.deepEqual(rows, []);
    assert.equal(columnDefinitions.length, 3);
  });

  it("of one object have one row and its resourceVersion", async () => {
    const { rows, metadata } = await tableOf(`${configmaps}/x`);
    assert.equal(rows.length, 1);
    assert.ok(metadata.resourceVersion);
  });

  it("include metadata, the object or nothing", async () => {
    const kinds: [query: string, kind: string | undefined][] = [
      ["", "PartialObjectMetadata"],
      ["?includeObject=", "PartialObjectMetadata"],
      ["?includeObject=Metadata", "PartialObjectMetadata"],
      ["?includeObject=Object", "ConfigMap"],
      ["?includeObject=None", undefined],
    ];
    for (const [query, kind] of kinds) {
      const { rows } = await tableOf(`${configmaps}${query}`);
      assert.equal(rows[0]?.object?.kind, kind, query);
    }
    const bad = await server.get(`${configmaps}?includeObject=x`, { headers: table });
    assert.equal(bad.status, 400);
    assert.equal(
      bad.object.message,
      `Unable to convert to Table as requested: includeObject: Invalid value: "x": must be 'Metadata', 'Object', 'None', or empty`,
    );
  });

  it("are also the response to writes that request one", async () => {
    const created = await server.request("POST", `${configmaps}?dryRun=All`, {
      headers: table,
      body: { metadata: { name: "z" } },
    });
    assert.equal(created.status, 201);
    assert.equal(created.object.kind, "Table");
  });
});

describe("metadata", () => {
  it("of one object", async () => {
    const whole = await server.requestOk("GET", `${configmaps}/x`);
    const answer = await server.get(`${configmaps}/x`, { headers: partial });
    assert.deepEqual(answer.object, {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: whole.metadata,
    });
    const list = await server.get(`${configmaps}/x`, { headers: partialList });
    assert.equal(list.status, 406);
  });

  it("of a list", async () => {
    const { object } = await server.get(configmaps, { headers: partialList });
    assert.equal(object.kind, "PartialObjectMetadataList");
    assert.equal(object.apiVersion, "meta.k8s.io/v1");
    assert.deepEqual(
      object.items?.map(({ kind, apiVersion, metadata }) => [kind, apiVersion, metadata.name]),
      [
        ["PartialObjectMetadata", "meta.k8s.io/v1", "x"],
        ["PartialObjectMetadata", "meta.k8s.io/v1", "y"],
      ],
    );
    assert.ok(!JSON.stringify(object).includes('"data"'));
    assert.equal((await server.get(configmaps, { headers: partial })).status, 406);
  });
});

describe("errors", () => {
  it("are YAML for a client of YAML", async () => {
    const headers = { accept: "application/yaml" };
    const answer = await server.get(`${configmaps}/missing`, { headers });
    assert.equal(answer.headers["content-type"], "application/yaml");
    assert.match(answer.text, /^apiVersion: v1\ncode: 404\n/);
  });

  it("are plain JSON in every other form", async () => {
    for (const accept of [table.accept, partial.accept, "*/*"]) {
      const answer = await server.get(`${configmaps}/missing`, { headers: { accept } });
      assert.equal(answer.status, 404);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.object.kind, "Status");
    }
  });

  it("reject a write with an unsupported form before it changes anything", async () => {
    const headers = { accept: "text/html" };
    const body = { metadata: { name: "never" } };
    assert.equal((await server.request("POST", configmaps, { headers, body })).status, 406);
    assert.equal((await server.request("DELETE", `${configmaps}/x`, { headers })).status, 406);
    assert.equal((await server.get(`${configmaps}/never`)).status, 404);
    assert.equal((await server.get(`${configmaps}/x`)).status, 200);
  });
});

describe("headers of every response", () => {
  it("contain an audit id: the client's if it is valid, or a new one", async () => {
    const echoed = await server.get("/version", { headers: { "audit-id": "my-id.1" } });
    assert.equal(echoed.headers["audit-id"], "my-id.1");
    const ids = new Set<unknown>();
    for (const sent of ["x".repeat(65), "a b", 'a"b', "", undefined]) {
      const headers: Record<string, string> = sent === undefined ? {} : { "audit-id": sent };
      const answer = await server.get("/nothing", { headers });
      assert.match(String(answer.headers["audit-id"]), /^[0-9a-f-]{36}$/);
      ids.add(answer.headers["audit-id"]);
    }
    assert.equal(ids.size, 5);
  });

  it("disable caching, unless the handler enables it", async () => {
    const answer = await server.get(configmaps);
    assert.equal(answer.headers["cache-control"], "no-cache, private");
  });

  it("of rejections to unauthenticated clients disable content sniffing", async () => {
    const anonymous = await server.get(configmaps, { user: "anonymous" });
    assert.equal(anonymous.status, 403);
    assert.equal(anonymous.headers["x-content-type-options"], "nosniff");
    const headers = { authorization: "Bearer wrong" };
    const wrong = await server.get("/version", { user: "anonymous", headers });
    assert.equal(wrong.status, 401);
    assert.equal(wrong.headers["x-content-type-options"], "nosniff");
    assert.deepEqual(wrong.object, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 401,
      reason: "Unauthorized",
      message: "Unauthorized",
    });
  });
});
