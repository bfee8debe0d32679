/**
 * The cost of custom resources: `node --expose-gc
 * packages/apiserver/dist/custom-resources/custom-resources.bench.js`.
 *
 * All requests run through the server in process, on the memory store; the memory is the heap after
 * a garbage collection of a new server on the stored objects of another one: neither the store nor
 * its history counts.
 */
import { performance } from "node:perf_hooks";
import { type AnyObject, definitionsPath, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const collect = (globalThis as { gc?: () => void }).gc;

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collect?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function print(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(70)} ${value}\n`);
}

/** A distinct definition: another group, kind and schema each time; some fifty fields. */
function distinct(i: number): AnyObject {
  const fields = Object.fromEntries(
    Array.from({ length: 50 }, (_, at) => [
      `field${i}x${at}`,
      { type: "string", description: `What field ${at} of kind ${i} is good for.`, maxLength: 100 },
    ]),
  );
  const names = { plural: `kinds${i}`, singular: `kind${i}`, kind: `Kind${i}`, shortNames: [] };
  const properties = { spec: { type: "object", properties: fields } };
  return cronTabs({
    group: `g${i % 100}.example.com`,
    names,
    schema: { type: "object", properties },
  });
}

async function manyDefinitions(count: number): Promise<void> {
  const server = await TestServer.start();
  const watch = await server.watch(`/clusters/a${definitionsPath}?watch=1`);
  const start = performance.now();
  const creating = (async () => {
    for (let i = 0; i < count; i++)
      await server.requestOk("POST", `/clusters/a${definitionsPath}`, { body: distinct(i) });
  })();
  const done = new Set<string>();
  while (done.size < count) {
    const [event] = await watch.take(1);
    const text = JSON.stringify(event?.object["status"] ?? {});
    if (text.includes('"type":"Established","status":"True"'))
      done.add(event?.object.metadata.name ?? "");
  }
  await creating;
  const elapsed = performance.now() - start;
  await watch.leave();
  print(
    `${count} distinct definitions created and established`,
    `${Math.round((count / elapsed) * 1000)}/s`,
  );
  const again = performance.now();
  const accept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
  for (const path of ["/clusters/a/api", "/clusters/a/apis"])
    await server.get(path, { headers: { accept } });
  print("aggregated discovery, cold", `${(performance.now() - again).toFixed(1)} ms`);
  const openapi = performance.now();
  await server.get("/clusters/a/openapi/v3");
  print("OpenAPI index, cold", `${(performance.now() - openapi).toFixed(1)} ms`);
  await server.server.close();
  const before = await heapBytes();
  const second = await TestServer.start({ storage: server.storage });
  for (const path of ["/clusters/a/api", "/clusters/a/apis"])
    await second.get(path, { headers: { accept } });
  const listed = (await heapBytes()) - before;
  print("memory of a definition that is listed", `${(listed / count / 1024).toFixed(1)} KB`);
  for (let i = 0; i < count; i++)
    await second.requestOk(
      "POST",
      `/clusters/a/apis/g${i % 100}.example.com/v1/namespaces/default/kinds${i}?dryRun=All`,
      { body: { metadata: { name: "x" }, spec: {} } },
    );
  const used = (await heapBytes()) - before;
  print("of one whose objects are in use", `${(used / count / 1024).toFixed(1)} KB`);
  await second.close();
}

async function manyClusters(count: number): Promise<void> {
  const server = await TestServer.start();
  await install(server, cronTabs(), "warm-up");
  const path = (i: number) => `/clusters/c${i}${definitionsPath}`;
  const start = performance.now();
  for (let i = 0; i < count; i++) await server.requestOk("POST", path(i), { body: cronTabs() });
  for (let i = 0; i < count; i++) {
    const instances = `/clusters/c${i}/apis/stable.example.com/v1/crontabs`;
    while ((await server.get(instances)).status === 404)
      await new Promise((resolve) => setImmediate(resolve));
  }
  print(
    `the same definition in ${count} clusters`,
    `${Math.round((count / (performance.now() - start)) * 1000)}/s`,
  );
  await server.server.close();
  const before = await heapBytes();
  const second = await TestServer.start({ storage: server.storage });
  await second.get("/clusters/warm-up/apis/stable.example.com/v1/crontabs");
  for (let i = 0; i < count; i++)
    await second.get(`/clusters/c${i}/apis/stable.example.com/v1/namespaces/x/crontabs/nothing`);
  const bytes = (await heapBytes()) - before;
  print("memory of a cluster with it, in use", `${Math.round(bytes / count)} bytes`);
  await second.close();
}

async function creationRate(count: number): Promise<void> {
  const server = await TestServer.start();
  await install(server, cronTabs());
  const rate = async (path: string, body: (i: number) => object) => {
    const start = process.cpuUsage();
    const workers = Array.from({ length: 16 }, async (_, worker) => {
      for (let i = worker; i < count; i += 16)
        await server.requestOk("POST", path, { body: body(i) });
    });
    await Promise.all(workers);
    const { user, system } = process.cpuUsage(start);
    return (count / (user + system)) * 1e6;
  };
  const image = "registry.example.com/some/image:1.2.3";
  const spec = { cronSpec: "* * * * */5", image, replicas: 3 };
  const custom = (i: number) => ({
    apiVersion: "stable.example.com/v1",
    kind: "CronTab",
    metadata: { name: `n${i}` },
    spec,
  });
  const data = { cronSpec: "* * * * */5", image, replicas: "3" };
  const plain = (i: number) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `n${i}` },
    data,
  });
  const ratios: number[] = [];
  for (let round = 0; round < 5; round++) {
    const [crs, cms] = [`r${round}`, `s${round}`];
    for (const name of [crs, cms])
      await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
        body: { metadata: { name } },
      });
    const ofCustom = await rate(
      `/clusters/a/apis/stable.example.com/v1/namespaces/${crs}/crontabs`,
      custom,
    );
    const ofPlain = await rate(`/clusters/a/api/v1/namespaces/${cms}/configmaps`, plain);
    if (round > 0) ratios.push(ofCustom / ofPlain);
    print(
      `creates, round ${round}`,
      `${Math.round(ofCustom)}/s custom, ${Math.round(ofPlain)}/s ConfigMap (of processor time)`,
    );
  }
  ratios.sort((a, b) => a - b);
  print("custom : ConfigMap, median", (ratios[Math.floor(ratios.length / 2)] as number).toFixed(2));
  await server.close();
}

async function removed(server: TestServer, name: string, cluster: string): Promise<void> {
  while ((await server.get(`/clusters/${cluster}${definitionsPath}/${name}`)).status !== 404)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The longest turn of the event loop, in CPU time: other programs on the machine do not count. */
async function longestHold(body: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  const processorMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  let last = processorMs();
  let isDone = false;
  const turn = () => {
    const now = processorMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await body();
  await new Promise((resolve) => setImmediate(resolve));
  isDone = true;
  return longest;
}

async function hostile(): Promise<void> {
  const server = await TestServer.start();
  const text = { type: "string" };
  const rules = (count: number, rule: string) =>
    Array.from({ length: count }, (_, i) => ({ rule: `${rule} || ${i} == ${i}` }));
  const wide = (count: number, leaf: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, leaf]));
  const object = (properties: object, more: object = {}) => ({
    type: "object",
    properties,
    ...more,
  });
  const schemas: [string, object][] = [
    ["10,000 fields", object(wide(10_000, text))],
    ["19,000 fields with defaults", object(wide(19_000, { ...text, default: "x" }))],
    [
      "3,000 rules",
      object({ a: text }, { "x-kubernetes-validations": rules(3_000, "self.a == 'x'") }),
    ],
    [
      "300 rules of 200 terms",
      object(
        { a: text },
        {
          "x-kubernetes-validations": rules(300, Array(200).fill("self.a == 'x'").join(" || ")),
        },
      ),
    ],
    [
      "500 patterns",
      object(
        Object.fromEntries(
          Array.from({ length: 500 }, (_, i) => [
            `p${i}`,
            { ...text, pattern: `^(a${i}|b*)+c{1,30}$` },
          ]),
        ),
      ),
    ],
    [
      "100 levels",
      Array.from({ length: 100 }).reduce<object>((inner) => object({ x: inner }), text),
    ],
  ];
  // Twice: in the first round, much of the code is not compiled yet.
  for (const [what, schema] of [...schemas, ...schemas]) {
    const names = { plural: "hostiles", singular: "hostile", kind: "Hostile", shortNames: [] };
    const body = Buffer.from(JSON.stringify(cronTabs({ schema, names })));
    let status = 0;
    const hold = await longestHold(async () => {
      const answer = await server.request("POST", `/clusters/h${definitionsPath}`, {
        body,
      });
      status = answer.status;
      if (status === 201) await new Promise((resolve) => setTimeout(resolve, 300));
    });
    print(`definition with ${what}: ${status}, longest hold`, `${hold.toFixed(0)} ms`);
    if (status !== 201) continue;
    const path = "/clusters/h/apis/stable.example.com/v1/namespaces/default/hostiles";
    const holding = await longestHold(async () => {
      await server.requestOk("POST", path, { body: { metadata: { name: "x" }, a: "x" } });
    });
    print(`  its first object, longest hold`, `${holding.toFixed(0)} ms`);
    await server.requestOk("DELETE", `/clusters/h${definitionsPath}/hostiles.stable.example.com`);
    await removed(server, "hostiles.stable.example.com", "h");
  }
  await server.close();
}

const [only] = process.argv.slice(2);
const benches: Record<string, () => Promise<void>> = {
  definitions: () => manyDefinitions(1_000),
  clusters: () => manyClusters(10_000),
  creates: () => creationRate(4_000),
  hostile,
};
for (const [name, bench] of Object.entries(benches)) {
  if (only === undefined || only === name) await bench();
}
