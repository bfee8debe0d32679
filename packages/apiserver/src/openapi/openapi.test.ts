/** OpenAPI, through the server: documents, their URLs, access and encodings. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { type TestResponse, TestServer } from "../testing/index.ts";

type Json = { readonly [member: string]: Json } & readonly Json[];

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const jsonOf = ({ object }: TestResponse) => object as unknown as Json;
const sum = ({ bytes }: TestResponse) =>
  createHash("sha512").update(bytes).digest("hex").toUpperCase();

async function indexOf(prefix = ""): Promise<Map<string, string>> {
  const { paths } = jsonOf(await server.get(`${prefix}/openapi/v3`));
  return new Map(
    Object.entries(paths as Json).map(([key, each]) => [key, String(each["serverRelativeURL"])]),
  );
}

describe("/openapi/v3", () => {
  it("lists a document for every group and version, under its hash", async () => {
    const index = await indexOf();
    assert.deepEqual(
      [...index.keys()],
      [
        "api",
        "api/v1",
        "apis",
        "apis/admissionregistration.k8s.io",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apiextensions.k8s.io",
        "apis/apiextensions.k8s.io/v1",
        "apis/authentication.k8s.io",
        "apis/authentication.k8s.io/v1",
        "apis/authorization.k8s.io",
        "apis/authorization.k8s.io/v1",
        "apis/certificates.k8s.io",
        "apis/certificates.k8s.io/v1",
        "apis/coordination.k8s.io",
        "apis/coordination.k8s.io/v1",
        "apis/events.k8s.io",
        "apis/events.k8s.io/v1",
        "apis/flowcontrol.apiserver.k8s.io",
        "apis/flowcontrol.apiserver.k8s.io/v1",
        "apis/rbac.authorization.k8s.io",
        "apis/rbac.authorization.k8s.io/v1",
        "version",
      ],
    );
    for (const [key, url] of index) {
      const answer = await server.get(url);
      assert.equal(url, `/openapi/v3/${key}?hash=${sum(answer)}`);
    }
    assert.deepEqual(
      await indexOf("/clusters/a"),
      await indexOf("/clusters/b"),
      "clusters that serve the same share them",
    );
  });

  it("describes discovery and the version, and every reference in these documents resolves", async () => {
    const answers: Readonly<Record<string, string>> = {
      api: "APIVersions",
      apis: "APIGroupList",
      "apis/rbac.authorization.k8s.io": "APIGroup",
      version: "Info",
    };
    for (const [key, answered] of Object.entries(answers)) {
      const { text } = await server.get(`/openapi/v3/${key}`);
      const { paths, components } = JSON.parse(text) as {
        paths: Record<string, { get: { operationId: string } }>;
        components: { schemas: object };
      };
      assert.deepEqual(Object.keys(paths), [`/${key}/`]);
      const references = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)];
      assert.ok(references.some(([, name]) => name?.endsWith(`.${answered}`)));
      for (const [, name] of references)
        assert.ok(Object.hasOwn(components.schemas, String(name)), `${key} ${name}`);
    }
    const { text } = await server.get("/openapi/v3/apis/rbac.authorization.k8s.io");
    assert.match(text, /"operationId":"getRbacAuthorizationAPIGroup"/);
  });

  it("a document under its hash is cacheable for ever", async () => {
    const url = (await indexOf()).get("api/v1") ?? "";
    const { status, headers } = await server.get(url);
    assert.equal(status, 200);
    assert.equal(headers["cache-control"], "public, immutable");
    assert.equal(headers["vary"], "Accept");
    assert.equal(headers["etag"], `"${url.split("hash=")[1]}"`);
    assert.equal(
      headers["expires"],
      new Date(server.clock.now() + 365 * 24 * 3_600_000).toUTCString(),
    );
    const again = await server.get(url, { headers: { "if-none-match": String(headers["etag"]) } });
    assert.deepEqual([again.status, again.bytes.length], [304, 0]);
  });

  it("a document under another hash redirects, a document without a hash is not cacheable", async () => {
    for (const prefix of ["", "/clusters/a"]) {
      const moved = await server.get(`${prefix}/openapi/v3/api/v1?hash=OLD`);
      assert.equal(moved.status, 301);
      assert.equal(moved.headers["location"], `${prefix}${(await indexOf()).get("api/v1")}`);
    }
    const plain = await server.get("/openapi/v3/api/v1");
    assert.deepEqual([plain.status, plain.headers["cache-control"]], [200, "no-cache, private"]);
  });

  it("unknown documents are a 404, and media types other than JSON a 406", async () => {
    for (const path of ["/openapi/v3/apis/apps/v1", "/openapi/v3/api/v2", "/openapi/v4"])
      assert.equal((await server.get(path)).status, 404, path);
    const accept = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    const refused = await server.get("/openapi/v3/api/v1", { headers: { accept } });
    assert.equal(refused.status, 406);
    const both = { accept: `${accept},application/json;q=0.5` };
    assert.equal((await server.get("/openapi/v3/api/v1", { headers: both })).status, 200);
  });

  it("every reference resolves, in every document", async () => {
    for (const url of (await indexOf()).values()) {
      const answer = await server.get(url);
      const { schemas } = jsonOf(answer)["components"] as Json;
      for (const [, name] of answer.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
        assert.ok(Object.hasOwn(schemas as Json, name as string), `${name} in ${url}`);
    }
  });

  it("a kind has its type, its metadata, its list, and the extensions that patches need", async () => {
    const { schemas } = jsonOf(await server.get("/openapi/v3/api/v1"))["components"] as Json;
    const account = schemas?.["io.k8s.api.core.v1.ServiceAccount"] as Json;
    assert.deepEqual(account["x-kubernetes-group-version-kind"], [
      { group: "", kind: "ServiceAccount", version: "v1" },
    ]);
    const properties = account["properties"] as Json;
    assert.deepEqual(Object.keys(properties).slice(0, 3), ["apiVersion", "kind", "metadata"]);
    assert.deepEqual(properties["metadata"]?.["allOf"], [
      { $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" },
    ]);
    const { description: _, items: _items, ...extensions } = properties["secrets"] as Json;
    assert.deepEqual(extensions, {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    });
    const reference = schemas?.["io.k8s.api.core.v1.ObjectReference"] as Json;
    assert.equal(reference["x-kubernetes-map-type"], "atomic");
    const list = schemas?.["io.k8s.api.core.v1.ServiceAccountList"] as Json;
    assert.deepEqual(list["required"], ["items"]);
    assert.deepEqual(list["x-kubernetes-group-version-kind"], [
      { group: "", kind: "ServiceAccountList", version: "v1" },
    ]);
  });

  it("PATCH says which kinds of patch there are, and that it can be validated and dry", async () => {
    const { paths } = jsonOf(await server.get("/openapi/v3/apis/rbac.authorization.k8s.io/v1"));
    const base = "/apis/rbac.authorization.k8s.io/v1";
    const patch = paths?.[`${base}/namespaces/{namespace}/roles/{name}`]?.["patch"] as Json;
    assert.deepEqual(patch["x-kubernetes-group-version-kind"], {
      group: "rbac.authorization.k8s.io",
      kind: "Role",
      version: "v1",
    });
    assert.deepEqual(
      (patch["parameters"] as Json).map((each) => each["name"]),
      ["dryRun", "fieldManager", "fieldValidation", "force"],
    );
    const types = Object.keys(patch["requestBody"]?.["content"] as Json);
    assert.ok(types.includes("application/strategic-merge-patch+json"), types.join());
    const all = paths?.[`${base}/roles`]?.["get"] as Json;
    assert.equal(all["operationId"], "listRbacAuthorizationV1RoleForAllNamespaces");
    assert.ok(!Object.hasOwn(paths as Json, `${base}/namespaces/{namespace}/clusterroles`));
  });

  it("is served to authenticated users only", async () => {
    for (const path of ["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"]) {
      assert.equal((await server.get(path, { user: "nobody" })).status, 200, path);
      assert.equal((await server.get(path, { user: "anonymous" })).status, 403, path);
    }
  });
});

describe("/openapi/v2", () => {
  const asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  const sent = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

  it("is one JSON document of all APIs, whose references resolve", async () => {
    const answer = await server.get("/openapi/v2");
    assert.equal(answer.headers["content-type"], "application/json");
    const { swagger, definitions, paths } = jsonOf(answer);
    assert.equal(swagger, "2.0");
    for (const [, name] of answer.text.matchAll(/"#\/definitions\/([^"]+)"/g))
      assert.ok(Object.hasOwn(definitions as Json, name as string), name);
    const ofKinds = [...(await indexOf())].filter(([key]) => /\/v\d\w*$/.test(key));
    assert.equal(ofKinds.length, 10);
    for (const [, url] of ofKinds) {
      const v3 = jsonOf(await server.get(url));
      for (const name of Object.keys(v3["components"]?.["schemas"] as Json))
        assert.ok(Object.hasOwn(definitions as Json, name), `${name} of ${url}`);
      for (const path of Object.keys(v3["paths"] as Json))
        assert.ok(Object.hasOwn(paths as Json, path), path);
    }
    assert.ok(!answer.text.includes('"allOf":['), "v2 refers directly");
  });

  const forms: [accept: string | undefined, type: string | number][] = [
    [undefined, "application/json"],
    ["*/*", "application/json"],
    ["application/json", "application/json"],
    [asked, sent],
    [sent, sent],
    [`${asked},application/json`, sent],
    [`${asked};q=0.5,application/json`, "application/json"],
    ["application/json;q=0", 406],
    ["text/html", 406],
  ];
  for (const [accept, type] of forms) {
    it(`asked for ${accept ?? "nothing"}, sends ${type}`, async () => {
      const headers = accept === undefined ? {} : { accept };
      const answer = await server.get("/openapi/v2", { headers });
      if (typeof type === "number") assert.equal(answer.status, type);
      else assert.equal(answer.headers["content-type"], type);
    });
  }

  it("is not sent again to clients that have it cached, in either encoding", async () => {
    for (const accept of ["application/json", asked]) {
      const plain = await server.get("/openapi/v2", { headers: { accept } });
      const etag = String(plain.headers["etag"]);
      assert.equal(etag, `"${sum(plain)}"`);
      const headers = { accept, "if-none-match": etag };
      const again = await server.get("/openapi/v2", { headers });
      assert.deepEqual([again.status, again.bytes.length, again.headers["etag"]], [304, 0, etag]);
    }
  });
});
