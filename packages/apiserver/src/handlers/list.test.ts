import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Revision } from "../storage/index.ts";
import { type TestResponse, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;
const { signal } = new AbortController();

async function create(server: TestServer, name: string, labels = {}, path = configmaps) {
  return server.requestOk("POST", path, { body: { metadata: { name, labels } } });
}

describe("list", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    for (const namespace of ["zz", "aa", "mm"]) {
      await server.requestOk("POST", `${base}/namespaces`, {
        body: { metadata: { name: namespace } },
      });
      for (const name of ["b", "a-1", "a", "c.d"]) {
        const labels = { letter: name[0], place: namespace };
        await create(server, name, labels, `${base}/namespaces/${namespace}/configmaps`);
      }
    }
  });
  after(() => server.close());

  const placed = ({ items }: TestResponse) =>
    items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

  it("orders by namespace, then name, bytewise", async () => {
    const answer = await server.get(`${base}/configmaps`);
    assert.deepEqual(
      placed(answer),
      ["aa", "mm", "zz"].flatMap((ns) => ["a", "a-1", "b", "c.d"].map((name) => `${ns}/${name}`)),
    );
  });

  it("has the kind of the list, its resourceVersion, and items without kinds", async () => {
    const { object, headers } = await server.get(`${base}/namespaces/aa/configmaps`);
    assert.equal(headers["content-type"], "application/json");
    const revision = await server.storage.currentRevision({ signal });
    assert.deepEqual(
      { ...object, items: object.items?.length },
      {
        kind: "ConfigMapList",
        apiVersion: "v1",
        metadata: { resourceVersion: String(revision) },
        items: 4,
      },
    );
    assert.deepEqual(Object.keys(object.items?.[0] ?? {}), ["metadata"]);
    const one = await server.requestOk("GET", `${base}/namespaces/aa/configmaps/a`);
    const { kind: _, apiVersion: __, ...bare } = one;
    assert.deepEqual(object.items?.[0], bare);
  });

  it("of an empty collection has an empty list of items", async () => {
    for (const path of ["/clusters/empty/api/v1/secrets", `${base}/namespaces/none/secrets`]) {
      const answer = await server.get(path);
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.object["items"], []);
    }
  });

  const selections: [query: string, expected: string[]][] = [
    ["labelSelector=place%3Daa,letter%3Da", ["aa/a", "aa/a-1"]],
    ["labelSelector=place+in+(aa,zz),letter+notin+(a,c)", ["aa/b", "zz/b"]],
    ["labelSelector=!letter", []],
    ["labelSelector=letter!%3Da,place%3Dmm", ["mm/b", "mm/c.d"]],
    ["fieldSelector=metadata.name%3Da", ["aa/a", "mm/a", "zz/a"]],
    ["fieldSelector=metadata.namespace%3Dmm,metadata.name!%3Da", ["mm/a-1", "mm/b", "mm/c.d"]],
    ["fieldSelector=metadata.name%3Da,metadata.name%3Db", []],
    ["fieldSelector=metadata.name%3D", []],
    ["fieldSelector=metadata.name%3Da&labelSelector=place%3Dzz", ["zz/a"]],
  ];
  for (const [query, expected] of selections) {
    it(`${decodeURIComponent(query)} selects [${expected}]`, async () => {
      assert.deepEqual(placed(await server.get(`${base}/configmaps?${query}`)), expected);
      const [first] = expected;
      if (first === undefined) return;
      // With a limit, the list reads on until it has as many matches.
      const seen: string[] = [];
      let token = "";
      do {
        const page = await server.get(`${base}/configmaps?${query}&limit=1&continue=${token}`);
        assert.equal(page.items.length, 1, page.text);
        assert.equal(page.object.metadata.remainingItemCount, undefined);
        seen.push(...placed(page));
        token = page.object.metadata.continue ?? "";
      } while (token !== "");
      assert.deepEqual(seen, expected);
    });
  }

  const refusals: [query: string, code: number, message: string | RegExp][] = [
    ["limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'],
    ["limit=1.5", 400, /strconv.ParseInt/],
    ["limit=99999999999999999999", 400, /strconv.ParseInt/],
    ["timeoutSeconds=x", 400, /strconv.ParseInt/],
    ["resourceVersion=abc", 400, /^invalid resource version: /],
    ["resourceVersion=-1", 400, /^invalid resource version: /],
    ["resourceVersion=1e3", 400, /^invalid resource version: /],
    ["labelSelector=a%3D%3D%3D", 400, /./],
    ["fieldSelector=nonsense", 400, /^invalid selector: 'nonsense'; can't understand 'nonsense'$/],
    [
      "fieldSelector=data.k%3Dv",
      400,
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    [
      "resourceVersionMatch=Exact",
      422,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      "resourceVersionMatch=Exact&resourceVersion=0",
      422,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersionMatch=NotOlderThan&resourceVersion=0&continue=x",
      422,
      /resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided$/,
    ],
    [
      "resourceVersionMatch=Newest&resourceVersion=1",
      422,
      /resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""$/,
    ],
    [
      "sendInitialEvents=true",
      422,
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    ],
    ["timeout=soon", 400, /^invalid timeout specified in the request URL/],
  ];
  for (const [query, code, message] of refusals) {
    it(`${query} is a ${code}`, async () => {
      const answer = await server.get(`${base}/configmaps?${query}`);
      assert.equal(answer.status, code, answer.text);
      if (typeof message === "string") assert.equal(answer.object.message, message);
      else assert.match(answer.object.message ?? "", message);
    });
  }

  it("ignores unknown parameters, and treats invalid limits as none", async () => {
    for (const query of [
      "whatever=1",
      "limit=0",
      "limit=-5",
      "limit=",
      "timeout=0s",
      "timeout=2h",
    ]) {
      const answer = await server.get(`${base}/configmaps?${query}`);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.items.length, 12, query);
    }
    const absurd = await server.get(`${base}/configmaps?limit=9007199254740991`);
    assert.equal(absurd.items.length, 12);
  });

  it("over all clusters is ordered by cluster, and names the cluster of each object", async () => {
    await create(server, "other", {}, "/clusters/zzz/api/v1/namespaces/default/configmaps");
    const { items } = await server.get("/clusters/*/api/v1/configmaps", { user: "masters" });
    assert.equal(items.length, 13);
    const clusters = items.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]);
    assert.deepEqual([...new Set(clusters)], ["a", "zzz"]);
  });
});

describe("a chain of pages", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
    for (let i = 0; i < 10; i++) await create(server, `x${i}`);
  });
  afterEach(() => server.close());

  it("shows one revision during concurrent writes", async () => {
    const seen: string[] = [];
    let token = "";
    const revisions = new Set<string | undefined>();
    for (let page = 0; page === 0 || token !== ""; page++) {
      const answer = await server.get(`${configmaps}?limit=3&continue=${token}`);
      assert.equal(answer.status, 200, answer.text);
      const { metadata } = answer.object;
      token = metadata.continue ?? "";
      seen.push(...answer.names);
      revisions.add(metadata.resourceVersion);
      assert.equal(metadata.remainingItemCount, token === "" ? undefined : 10 - seen.length);
      await create(server, `x0-new-${page}`);
      await create(server, `x9-new-${page}`);
      await server.requestOk("DELETE", `${configmaps}/x${9 - page}`);
    }
    assert.deepEqual(seen, ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"]);
    assert.equal(revisions.size, 1);
  });

  it("continues after a key that has been deleted meanwhile", async () => {
    const first = await server.get(`${configmaps}?limit=3`);
    await server.requestOk("DELETE", `${configmaps}/x2`);
    const second = await server.get(
      `${configmaps}?limit=3&continue=${first.object.metadata.continue}`,
    );
    assert.deepEqual(second.names, ["x3", "x4", "x5"]);
  });

  it("expires with its revision, and the Status has a token to continue at the newest revision", async () => {
    const first = await server.get(`${configmaps}?limit=4`);
    await create(server, "x3-late");
    await create(server, "x5-late");
    await create(server, "zz");
    const revision = await server.storage.currentRevision({ signal });
    await server.storage.compact((revision - 1) as Revision, { signal });
    const token = first.object.metadata.continue;
    const expired = await server.get(`${configmaps}?limit=4&continue=${token}`);
    assert.equal(expired.status, 410);
    assert.equal(expired.object.reason, "Expired");
    assert.match(
      expired.object.message ?? "",
      /^The provided continue parameter is too old to display a consistent list result/,
    );
    const fresh = expired.object.metadata.continue;
    assert.ok(fresh);
    const second = await server.get(`${configmaps}?limit=4&continue=${fresh}`);
    assert.deepEqual(second.names, ["x3-late", "x4", "x5", "x5-late"]);
    const { resourceVersion } = second.object.metadata;
    assert.notEqual(resourceVersion, first.object.metadata.resourceVersion);
    await create(server, "x6-later");
    const third = await server.get(
      `${configmaps}?limit=40&continue=${second.object.metadata.continue}`,
    );
    assert.deepEqual(third.names, ["x6", "x7", "x8", "x9", "zz"]);
    assert.equal(third.object.metadata.resourceVersion, resourceVersion);
  });

  it("rejects a resourceVersion", async () => {
    const first = await server.get(`${configmaps}?limit=4`);
    const token = first.object.metadata.continue;
    const answer = await server.get(`${configmaps}?limit=4&continue=${token}&resourceVersion=5`);
    assert.equal(answer.status, 400);
    assert.equal(
      answer.object.message,
      "specifying resource version is not allowed when using continue",
    );
    const zero = await server.get(`${configmaps}?limit=4&continue=${token}&resourceVersion=0`);
    assert.deepEqual(zero.names, ["x4", "x5", "x6", "x7"]);
  });

  it("waits for the revision of a token from the future, and then fails", async () => {
    const token = { v: "meta.k8s.io/v1", rv: 9999, start: "x3\0" };
    const text = Buffer.from(JSON.stringify(token)).toString("base64url");
    const answering = server.get(`${configmaps}?limit=4&continue=${text}`);
    await settle();
    server.clock.advance(3000);
    const { status, object } = await answering;
    assert.equal(status, 504);
    assert.match(object.message ?? "", /^Timeout: Too large resource version: 9999, current: \d+$/);
  });

  it("has tokens in the format of Kubernetes, with the number of objects that follow", async () => {
    const { metadata } = (await server.get(`${configmaps}?limit=4`)).object;
    const text = Buffer.from(metadata.continue ?? "", "base64url").toString("utf8");
    assert.deepEqual(JSON.parse(text), {
      v: "meta.k8s.io/v1",
      rv: Number(metadata.resourceVersion),
      start: "x3\0",
      remaining: metadata.remainingItemCount,
    });
    assert.match(metadata.continue ?? "", /^[\w-]+$/);
  });
});

describe("resourceVersion of a list", () => {
  let server: TestServer;
  let versions: string[];
  beforeEach(async () => {
    server = await TestServer.start();
    versions = [];
    for (let i = 0; i < 3; i++) {
      versions.push((await create(server, `x${i}`)).metadata.resourceVersion ?? "");
    }
  });
  afterEach(() => server.close());

  const namesAt = async (query: string) => {
    const { names, object } = await server.get(`${configmaps}?${query}`);
    return [names.join(), object.metadata.resourceVersion];
  };

  it("an older resourceVersion is a lower bound, and exact with a limit or resourceVersionMatch=Exact", async () => {
    const [, second, newest] = versions;
    assert.deepEqual(await namesAt(`resourceVersion=${second}`), ["x0,x1,x2", newest]);
    assert.deepEqual(
      await namesAt(`resourceVersion=${second}&resourceVersionMatch=NotOlderThan&limit=2`),
      ["x0,x1", newest],
    );
    assert.deepEqual(await namesAt(`resourceVersion=${second}&limit=5`), ["x0,x1", second]);
    assert.deepEqual(await namesAt(`resourceVersion=${second}&resourceVersionMatch=Exact`), [
      "x0,x1",
      second,
    ]);
    assert.deepEqual(await namesAt("resourceVersion=0&limit=1"), ["x0,x1,x2", newest]);
    assert.deepEqual(await namesAt("resourceVersion=0&resourceVersionMatch=NotOlderThan"), [
      "x0,x1,x2",
      newest,
    ]);
  });

  it("a compacted resourceVersion is expired", async () => {
    await server.storage.compact(Number(versions[2]) as Revision, { signal });
    const answer = await server.get(
      `${configmaps}?resourceVersion=${versions[0]}&resourceVersionMatch=Exact`,
    );
    assert.equal(answer.status, 410);
    assert.equal(answer.object.reason, "Expired");
    assert.equal(answer.object.message, "The resourceVersion for the provided list is too old.");
  });

  it("a list waits three seconds for a resourceVersion from the future", async () => {
    const future = Number(versions[2]) + 10;
    for (const target of [
      `${configmaps}?resourceVersion=${future}`,
      `${configmaps}?resourceVersion=${future}&resourceVersionMatch=Exact`,
      `${configmaps}/x0?resourceVersion=${future}`,
      `${configmaps}?watch=1&resourceVersion=${future}`,
    ]) {
      const answering = server.get(target);
      await settle();
      server.clock.advance(3000);
      const answer = await answering;
      assert.equal(answer.status, 504, target);
      assert.equal(answer.object.reason, "Timeout");
      assert.equal(
        answer.object.message,
        `Timeout: Too large resource version: ${future}, current: ${versions[2]}`,
      );
      assert.equal(answer.headers["retry-after"], "1");
      assert.deepEqual(answer.object.details, {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      });
    }
    const answering = server.get(`${configmaps}?resourceVersion=${Number(versions[2]) + 1}`);
    await settle();
    await create(server, "late");
    assert.deepEqual((await answering).names, ["late", "x0", "x1", "x2"]);
  });
});

describe("get", () => {
  it("uses a resourceVersion as a lower bound", async () => {
    const server = await TestServer.start();
    const { metadata } = await create(server, "x");
    for (const version of ["", "0", "1", metadata.resourceVersion]) {
      const answer = await server.get(`${configmaps}/x?resourceVersion=${version}`);
      assert.equal(answer.status, 200);
    }
    const bad = await server.get(`${configmaps}/x?resourceVersion=a`);
    assert.equal(bad.status, 400);
    const missing = await server.get(`${configmaps}/y`);
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.object, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code: 404,
      reason: "NotFound",
      message: 'configmaps "y" not found',
      details: { name: "y", kind: "configmaps" },
    });
    await server.close();
  });
});

/** Runs all work that does not wait for the clock. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
