/** The endpoints that are no resources: health, version, metrics, the list of paths. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FaultyStorage, TestServer } from "../testing/index.ts";

let storage: FaultyStorage;
let server: TestServer;
beforeEach(async () => {
  storage = new FaultyStorage(new MemoryStorage());
  server = await TestServer.start({ storage });
});
afterEach(() => server.close());

describe("health", () => {
  it("responds ok to every client, in every cluster", async () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/clusters/a/readyz", "/livez/ping"]) {
      const answer = await server.get(path, { user: "anonymous" });
      assert.equal(answer.status, 200, path);
      assert.equal(answer.text, "ok");
      assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
    }
  });

  it("lists the checks with ?verbose", async () => {
    const { text } = await server.get("/readyz?verbose");
    assert.equal(
      text,
      "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]informer-sync ok\n[+]shutdown ok\n[+]loop/compactor ok\nreadyz check passed\n",
    );
    assert.equal(
      (await server.get("/livez?verbose")).text,
      "[+]ping ok\n[+]log ok\nlivez check passed\n",
    );
  });

  it("skips excluded checks, and reports unknown ones", async () => {
    storage.fail();
    const excluded = await server.get("/readyz?exclude=etcd&verbose");
    assert.equal(excluded.status, 200);
    assert.match(excluded.text, /^\[\+\]etcd excluded: ok$/m);
    const unknown = await server.get("/readyz?exclude=etcd&exclude=nothing&verbose=1");
    assert.match(
      unknown.text,
      /^warn: some health checks cannot be excluded: no matches for "nothing"$/m,
    );
    storage.recover();
  });

  it("fails readyz and not livez when the store fails, without disclosing the reason", async () => {
    storage.fail();
    const ready = await server.get("/readyz", { user: "anonymous" });
    assert.equal(ready.status, 500);
    assert.match(ready.text, /^\[-\]etcd failed: reason withheld$/m);
    assert.match(ready.text, /readyz check failed\n$/);
    assert.ok(!ready.text.includes("fire"));
    assert.ok(JSON.stringify(server.logged).includes("the disk is on fire"));
    assert.equal((await server.get("/readyz/etcd")).status, 500);
    assert.equal((await server.get("/livez")).status, 200);
    assert.equal(server.server.isReady, false);
    storage.recover();
    assert.equal((await server.get("/readyz")).status, 200);
  });

  it("responds 404 to unknown checks and other methods", async () => {
    for (const path of ["/readyz/x", "/readyz/ping/more", "/healthzz"]) {
      assert.equal((await server.get(path)).status, 404, path);
    }
    assert.equal((await server.request("POST", "/readyz")).status, 404);
  });
});

describe("version", () => {
  it("has the format that clients parse", async () => {
    const { status, object, headers } = await server.get("/version", { user: "anonymous" });
    assert.equal(status, 200);
    assert.equal(headers["content-type"], "application/json");
    assert.equal(object["major"], "1");
    assert.equal(object["minor"], "36");
    assert.match(String(object["gitVersion"]), /^v1\.36\.\d+(\+[\w.-]+)?$/);
    for (const field of [
      "gitCommit",
      "gitTreeState",
      "buildDate",
      "goVersion",
      "compiler",
      "platform",
    ])
      assert.equal(typeof object[field], "string", field);
  });
});

describe("the root path", () => {
  it("lists paths that exist", async () => {
    for (const root of ["/", "/clusters/a", "/clusters/a/"]) {
      const { paths } = (await server.get(root)).object as unknown as { paths: string[] };
      for (const path of paths) assert.equal((await server.get(path)).status, 200, path);
    }
    assert.equal((await server.get("/nothing")).status, 404);
  });
});

describe("metrics", () => {
  const series = async () => {
    const { text } = await server.get("/metrics");
    const all = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const isTop = (line: string) => line.startsWith("kcp_top_tenant_");
    assert.ok(all.filter(isTop).length <= 30, "the only labels that name tenants are bounded");
    return all.filter((line) => !isTop(line));
  };

  it("have the names that dashboards use", async () => {
    await server.get("/clusters/a/api/v1/configmaps");
    assert.match(
      (await server.get("/metrics")).text,
      /^apiserver_cache_list_total\{group="",index="",resource="configmaps"\} 1$/m,
    );
    const { text, headers } = await server.get("/metrics");
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    for (const name of [
      "apiserver_request_total",
      "apiserver_request_duration_seconds",
      "apiserver_longrunning_requests",
      "apiserver_current_inflight_requests",
      "apiserver_request_sli_duration_seconds",
      "apiserver_response_sizes",
      "apiserver_storage_objects",
      "kcp_storage_revision",
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "process_start_time_seconds",
    ]) {
      assert.match(text, new RegExp(`^# TYPE ${name} `, "m"), name);
    }
    assert.match(
      text,
      /^apiserver_request_total\{verb="LIST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="cluster",component="apiserver",code="200"\} 1$/m,
    );
    assert.match(
      text,
      /^apiserver_response_sizes_count\{verb="LIST",group="",version="v1",resource="configmaps",subresource="",scope="cluster",component="apiserver"\} 1$/m,
    );
    const line = /^[a-z_]+(\{([a-z_]+="[^"\\\n]*",?)*\})? [-+.e\dInf]+$/;
    for (const each of await series()) assert.match(each, line);
  });

  it("distinguish dry runs, open watches and stored objects by resource", async () => {
    const path = "/clusters/a/api/v1/namespaces/default/configmaps";
    await storedObjects("configmaps", 0);
    const before = await storedObjects("namespaces");
    await server.requestOk("POST", `${path}?dryRun=All`, { body: { metadata: { name: "dry" } } });
    await server.request("POST", `${path}?dryRun=Some`, { body: { metadata: { name: "dry" } } });
    for (const name of ["x", "y"])
      await server.requestOk("POST", path, { body: { metadata: { name } } });
    await server.requestOk("DELETE", `${path}/x`);
    await storedObjects("configmaps", 1);
    assert.equal(await storedObjects("namespaces"), before + 1);
    const watch = await server.watch(`${path}?watch=1`);
    await watch.next();
    const { text } = await server.get("/metrics");
    const place = 'group="",version="v1",resource="configmaps",subresource=""';
    for (const line of [
      `apiserver_request_total{verb="CREATE",dry_run="All",${place},scope="namespace",component="apiserver",code="201"} 1`,
      `apiserver_longrunning_requests{verb="WATCH",${place},scope="namespace",component="apiserver"} 1`,
    ])
      assert.ok(text.includes(`\n${line}\n`), line);
    assert.match(text, /verb="CREATE",dry_run="invalid"/);
    await watch.leave();
  });

  /**
   * Polls until there are `wanted` objects: objects are counted asynchronously after the first
   * request.
   */
  async function storedObjects(resource: string, wanted?: number): Promise<number> {
    for (;;) {
      const { text } = await server.get("/metrics");
      const line = new RegExp(
        `^apiserver_storage_objects\\{resource="${resource}"\\} (\\d+)$`,
        "m",
      );
      const count = line.exec(text)?.[1];
      if (count !== undefined && (wanted ?? Number(count)) === Number(count)) return Number(count);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  it("do not grow with clusters, namespaces or objects", async () => {
    await storedObjects("configmaps");
    const act = async (cluster: string, name: string) => {
      const path = `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
      await server.requestOk("POST", path, { body: { metadata: { name } } });
      await server.get(`${path}/${name}`);
      await server.get(`${path}/${name}-missing`);
    };
    await act("c0", "x0");
    await series();
    const before = (await series()).length;
    for (let i = 1; i < 20; i++) await act(`c${i}`, `x${i}`);
    assert.equal((await series()).length, before);
    assert.ok(!(await series()).join("\n").includes("c1"));
  });

  it("do not grow with input of unauthenticated clients", async () => {
    const made = async (n: number) => {
      await server.get(`/api/v1/made-up-${n}`, { user: "anonymous" });
      await server.get(`/apis/g${n}/v1/things/x/sub${n}`, { user: "anonymous" });
      await server.get(`/api/v1/namespaces/n/configmaps/x/sub${n}`, { user: "anonymous" });
      await server.request(`METHOD${n}`, "/version", { user: "anonymous" });
      await server.request(`METHOD${n}`, `/api/v1/configmaps`, { user: "anonymous" });
      await server.get(`/path${n}`, { user: "nobody" });
      await server.get(`/apis/g${n}/v1/things`, {
        user: "anonymous",
        headers: { authorization: "Bearer wrong" },
      });
    };
    await made(0);
    await storedObjects("configmaps");
    const before = (await series()).length;
    for (let n = 1; n < 30; n++) await made(n);
    assert.equal((await series()).length, before);
    assert.ok(!(await server.get("/metrics")).text.includes("made-up"));
  });

  it("belong to the process, not to a tenant", async () => {
    assert.equal((await server.get("/metrics", { user: "nobody" })).status, 403);
    for (const [cluster, user] of [
      ["a", "a"],
      ["root", "masters"],
    ] as const) {
      const inCluster = await server.get(`/clusters/${cluster}/metrics`, { user });
      assert.equal(inCluster.status, 501);
      assert.equal(inCluster.text, "shard-level endpoint not available at workspace scope");
    }
    assert.equal((await server.get("/metrics", { user: "masters" })).status, 200);
  });
});
