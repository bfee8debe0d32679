/** Conformance tests of Kubernetes that run kubectl, under the names that they have there. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { eventually, findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { collect, type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

let kcp: KcpProcess;
let folder: string;
let kubectl: Kubectl;
const cleanups: (() => Promise<unknown>)[] = [];
let clusters = 0;
let cluster: string;

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const validated = {
  description: "Foo CRD for Testing",
  type: "object",
  properties: {
    spec: {
      type: "object",
      description: "Specification of Foo",
      properties: {
        bars: {
          description: "List of Bars and their specs.",
          type: "array",
          items: {
            type: "object",
            required: ["name"],
            properties: {
              name: { description: "Name of Bar.", type: "string" },
              age: { description: "Age of Bar.", type: "string" },
            },
          },
        },
      },
    },
  },
};

interface Version {
  readonly name: string;
  readonly served?: boolean;
  readonly schema?: object;
}

function definition(plural: string, group: string, versions: readonly Version[]) {
  const singular = plural.slice(0, -1);
  const kind = singular[0]?.toUpperCase() + singular.slice(1);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions: versions.map(({ name, served = true, schema = open }, index) => ({
        name,
        served,
        storage: index === 0,
        schema: { openAPIV3Schema: schema },
      })),
    },
  };
}

async function install(one: ReturnType<typeof definition>): Promise<void> {
  await kubectl.feed(JSON.stringify(one), "apply", "--server-side", "-f", "-");
  const established = ["--for=condition=Established", `crd/${one.metadata.name}`];
  await kubectl.run("wait", ...established, "--timeout=150s");
}

async function publishedNames(): Promise<string> {
  return kubectl.run("get", "--raw", `/clusters/${cluster}/openapi/v2`);
}

const object = (kind: string, version: string, rest: object, group = "example.com") =>
  JSON.stringify({ apiVersion: `${group}/${version}`, kind, metadata: { name: "a" }, ...rest });

describe("conformance: kubectl", { skip: kubectlMissing() ?? false }, () => {
  before(async () => {
    folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    kcp = await startKcp(join(folder, "root"), "--storage", "memory");
    cleanups.unshift(() => kcp.stop());
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });
  beforeEach(() => {
    cluster = `conformance${clusters++}`;
    const binary = findKubectl() as string;
    kubectl = new Kubectl(binary, join(folder, cluster), ["--kubeconfig", kcp.kubeconfig]).with(
      ...["--context", "base", "--server", `${kcp.url}/clusters/${cluster}`],
    );
  });

  describe("published OpenAPI", () => {
    it("CustomResourcePublishOpenAPI works for CRD with validation schema", async () => {
      await install(definition("foos", "example.com", [{ name: "v1", schema: validated }]));
      const good = object("Foo", "v1", { spec: { bars: [{ name: "test-bar" }] } });
      await kubectl.feed(good, "create", "--validate=true", "-f", "-");
      await kubectl.run("delete", "foo", "a");
      const unknown = object("Foo", "v1", { spec: { bars: [{ name: "x" }], foo: true } });
      await assert.rejects(
        kubectl.feed(unknown, "create", "--validate=true", "-f", "-"),
        /unknown field/,
      );
      const incomplete = object("Foo", "v1", { spec: { bars: [{ age: "10" }] } });
      await assert.rejects(
        kubectl.feed(incomplete, "create", "--validate=true", "-f", "-"),
        /[Rr]equired/,
      );
      assert.match(await kubectl.run("explain", "foos"), /Foo CRD for Testing/);
      assert.match(await kubectl.run("explain", "foos.spec"), /List of Bars and their specs/);
      assert.match(await kubectl.run("explain", "foos.spec.bars"), /age\s+<string>/);
      await assert.rejects(kubectl.run("explain", "foos.spec.bars2"), /does not exist/);
    });

    for (const [title, schema] of [
      ["works for CRD without validation schema", open],
      ["works for CRD preserving unknown fields at the schema root", { ...validated, ...open }],
    ] as const) {
      it(`CustomResourcePublishOpenAPI ${title}`, async () => {
        await install(definition("foos", "example.com", [{ name: "v1", schema }]));
        const unknown = object("Foo", "v1", { a: { b: [{ c: "d" }] } });
        await kubectl.feed(unknown, "create", "--validate=true", "-f", "-");
        await kubectl.feed(unknown, "apply", "-f", "-");
        assert.match(await kubectl.run("explain", "foos"), /KIND: +Foo/);
      });
    }

    it("CustomResourcePublishOpenAPI works for CRD preserving unknown fields in an embedded object", async () => {
      const schema = { type: "object", properties: { spec: open } };
      await install(definition("foos", "example.com", [{ name: "v1", schema }]));
      const unknown = object("Foo", "v1", { spec: { b: [{ c: "d" }] } });
      await kubectl.feed(unknown, "create", "--validate=true", "-f", "-");
      assert.match(await kubectl.run("explain", "foos"), /spec\s+<Object>/);
    });

    for (const [title, definitions, names] of [
      [
        "works for multiple CRDs of different groups",
        [
          definition("foos", "one.example.com", [{ name: "v1", schema: validated }]),
          definition("foos", "two.example.com", [{ name: "v1", schema: validated }]),
        ],
        ["com.example.one.v1.Foo", "com.example.two.v1.Foo"],
      ],
      [
        "works for multiple CRDs of same group but different versions",
        [definition("foos", "example.com", [{ name: "v2" }, { name: "v3" }])],
        ["com.example.v2.Foo", "com.example.v3.Foo"],
      ],
      [
        "works for multiple CRDs of same group and version but different kinds",
        [
          definition("foos", "example.com", [{ name: "v1", schema: validated }]),
          definition("bars", "example.com", [{ name: "v1", schema: validated }]),
        ],
        ["com.example.v1.Foo", "com.example.v1.Bar"],
      ],
    ] as const) {
      it(`CustomResourcePublishOpenAPI ${title}`, async () => {
        for (const one of definitions) await install(one);
        await eventually(async () => {
          const published = await publishedNames();
          for (const name of names) assert.ok(published.includes(`"${name}"`), name);
        });
      });
    }

    it("CustomResourcePublishOpenAPI updates the published spec when one version gets renamed", async () => {
      await install(definition("foos", "example.com", [{ name: "v2" }, { name: "v3" }]));
      await install(definition("foos", "example.com", [{ name: "v2" }, { name: "v4" }]));
      await eventually(async () => {
        const published = await publishedNames();
        for (const name of ["v2", "v4"]) assert.ok(published.includes(`com.example.${name}.Foo"`));
        assert.ok(!published.includes('com.example.v3.Foo"'));
      });
    });

    it("CustomResourcePublishOpenAPI removes definition from spec when one version gets changed to not be served", async () => {
      await install(definition("foos", "example.com", [{ name: "v5" }, { name: "v6alpha1" }]));
      await eventually(async () => assert.match(await publishedNames(), /com\.example\.v6alpha1/));
      const unserved = [{ name: "v5" }, { name: "v6alpha1", served: false }];
      await install(definition("foos", "example.com", unserved));
      await eventually(async () => {
        const published = await publishedNames();
        assert.match(published, /com\.example\.v5\.Foo/);
        assert.doesNotMatch(published, /com\.example\.v6alpha1\.Foo/);
      });
    });
  });

  it("Kubectl client Kubectl api-versions should check if v1 is in available api versions", async () => {
    assert.ok((await kubectl.run("api-versions")).split("\n").includes("v1"));
  });

  it("Kubectl client Kubectl version should check is all data is printed", async () => {
    const text = await kubectl.run("version");
    assert.match(text, /Client Version/);
    assert.match(text, /Server Version/);
  });

  describe("the proxy", () => {
    async function proxied(args: readonly string[], where: RegExp) {
      const child = kubectl.start("proxy", ...args);
      const ended = collect(child);
      let said = "";
      const match = await new Promise<RegExpExecArray>((resolve, reject) => {
        child.stdout?.on("data", (bytes: Buffer) => {
          said += bytes.toString();
          const found = where.exec(said);
          if (found !== null) resolve(found);
        });
        child.once("close", () => reject(new Error(`the proxy ended: ${said}`)));
      });
      const stop = async () => {
        child.kill();
        await ended;
      };
      return { match, stop };
    }

    const versionsBy = (options: object) =>
      new Promise<{ versions: readonly string[] }>((resolve, reject) => {
        const sent = request({ ...options, path: "/api/" }, (response) => {
          let text = "";
          response.on("data", (bytes: Buffer) => {
            text += bytes.toString();
          });
          response.on("end", () => resolve(JSON.parse(text)));
        });
        sent.on("error", reject);
        sent.end();
      });

    it("Kubectl client Proxy server should support proxy with --port 0", async () => {
      const args = ["--port=0", "--disable-filter=true"];
      const { match, stop } = await proxied(args, /127\.0\.0\.1:(\d+)/);
      const { versions } = await versionsBy({ host: "127.0.0.1", port: Number(match[1]) });
      assert.deepEqual(versions, ["v1"]);
      await stop();
    });

    it("Kubectl client Proxy server should support --unix-socket=/path", async () => {
      const socketPath = join(folder, "proxy.sock");
      const { stop } = await proxied([`--unix-socket=${socketPath}`], /Starting to serve/);
      const { versions } = await versionsBy({ socketPath });
      assert.deepEqual(versions, ["v1"]);
      await stop();
    });
  });
});
