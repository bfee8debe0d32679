/**
 * What a new user does: installs the packed package into an empty project, copies a program from a
 * guide, compiles it with every strict setting on, and runs it. It has to work at the first try.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import {
  type Client,
  type Condition,
  connectDefault,
  defineResource,
  findCondition,
  isConditionTrue,
  type KubeconfigConnection,
  type KubernetesObject,
  parseKubeconfig,
  type Resource,
} from "@kcp-ts/sdk";
import {
  apiBindings,
  configMaps,
  customResourceDefinitions,
  namespaces,
  secrets,
  workspaces,
} from "@kcp-ts/sdk/kinds";
import { eventually, startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing";
import { writePackage } from "./package-files.ts";
import { type LocalRegistry, startLocalRegistry } from "./testing/local-registry.ts";

const exec = promisify(execFile);
let folder = "";
let tarball = "";
let registry: LocalRegistry;
const children: ChildProcess[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kcp-ts-first-"));
  await writePackage({ folder: join(folder, "package") });
  const { stdout } = await exec("npm", ["pack", "--silent"], { cwd: join(folder, "package") });
  tarball = join(folder, "package", stdout.trim().split("\n").at(-1) ?? "");
  registry = await startLocalRegistry(resolve("node_modules"));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await npm(folder, "install", tarball, "@types/node");
});
after(async () => {
  await registry.close();
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

async function npm(place: string, ...args: readonly string[]): Promise<void> {
  const flags = ["--registry", registry.url, "--cache", join(folder, "cache")];
  await exec("npm", [...args, ...flags, "--no-audit", "--no-fund"], { cwd: place });
}

const installed = () => join(folder, "node_modules", "kcp-ts");

/** An own package, whose programs use what npm has installed above it. */
async function project(name: string, program: string): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  await writeFile(join(place, "package.json"), '{ "type": "module" }');
  await writeFile(join(place, "main.ts"), program);
  const defaults = { files: ["main.ts"], compilerOptions: { ...initial, noEmit: true } };
  assert.deepEqual(await compile(place, defaults), []);
  assert.deepEqual(await compile(place, strictest), []);
  return place;
}

async function compile(place: string, settings: object): Promise<readonly string[]> {
  await writeFile(join(place, "tsconfig.json"), JSON.stringify(settings));
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const { stdout } = await exec(process.execPath, [tsc, "-p", "."], { cwd: place }).catch(
    (error: { stdout: string }) => error,
  );
  const errors = stdout.split("\n").filter((line) => /error TS/.test(line));
  return errors.filter((line) => !knownError.test(line));
}

/** Of these declarations of Node themselves; later ones have none. */
const knownError = /@types\/node\/https\.d\.ts\(\d+,\d+\): error TS2320: Interface 'AgentOptions'/;

/** What `tsc --init` writes, with the types of Node as its comments ask for them. */
const initial = {
  module: "nodenext",
  target: "esnext",
  types: ["node"],
  sourceMap: true,
  declaration: true,
  declarationMap: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  strict: true,
  jsx: "react-jsx",
  verbatimModuleSyntax: true,
  isolatedModules: true,
  noUncheckedSideEffectImports: true,
  moduleDetection: "force",
  skipLibCheck: true,
};

const strictest = {
  compilerOptions: {
    target: "ES2023",
    lib: ["ES2023"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noImplicitReturns: true,
    noFallthroughCasesInSwitch: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    skipLibCheck: false,
  },
  files: ["main.ts"],
};

/** The first block of code below a heading of a guide. */
async function programOf(guide: string, heading: string): Promise<string> {
  const text = await readFile(`docs/guides/${guide}.md`, "utf8");
  const section = text.slice(text.indexOf(`# ${heading}\n`));
  const [, program] = /```(?:ts|text)\n(.*?)```/s.exec(section) ?? [];
  assert.ok(program !== undefined, `${guide} has no program below ${heading}`);
  return program;
}

/** Resolves with the output when it contains the text. */
function said(child: ChildProcess, text: RegExp): Promise<string> {
  return new Promise((done, fail) => {
    let all = "";
    const take = (chunk: Buffer) => {
      all += chunk.toString("utf8");
      if (text.test(all)) done(all);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    child.once("exit", (code) => fail(new Error(`it ended with ${code}: ${all}`)));
  });
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

describe("the packed package", () => {
  it("has less than a megabyte and a half", async () => {
    const { size } = await stat(tarball);
    assert.ok(size < 1.5e6, `${size} bytes`);
  });

  it("has at most eight dependencies", async () => {
    const text = await readFile(join(installed(), "package.json"), "utf8");
    const { dependencies } = JSON.parse(text) as { dependencies: object };
    assert.ok(Object.keys(dependencies).length <= 8);
  });

  it("is imported in 40 milliseconds of a processor and 25 megabytes, as far as the SDK goes", async () => {
    const program = `
      const [memory, cpu] = [process.memoryUsage.rss(), process.cpuUsage()];
      await import(${JSON.stringify(join(installed(), "lib/sdk.js"))});
      const { user, system } = process.cpuUsage(cpu);
      const megabytes = (process.memoryUsage.rss() - memory) / 1e6;
      console.log(JSON.stringify({ ms: (user + system) / 1e3, megabytes }));
    `;
    const runs: { ms: number; megabytes: number }[] = [];
    for (let n = 0; n < 5; n++) {
      const args = ["--input-type=module", "--eval", program];
      runs.push(JSON.parse((await exec(process.execPath, args)).stdout) as (typeof runs)[0]);
    }
    // What others do on the machine only adds to the time.
    assert.ok(Math.min(...runs.map(({ ms }) => ms)) < 40, JSON.stringify(runs));
    assert.ok(Math.max(...runs.map(({ megabytes }) => megabytes)) < 25, JSON.stringify(runs));
  });
});

const website = defineResource<
  KubernetesObject & { spec: { title: string }; status?: { ready?: boolean } }
>({ group: "example.com", version: "v1", resource: "websites", kind: "Website", namespaced: true });
const shop = defineResource<
  KubernetesObject & {
    spec: { shelves: number };
    status?: { stocked?: number; conditions?: readonly Condition[] };
  }
>({ group: "example.com", version: "v1", resource: "shops", kind: "Shop", namespaced: true });
const at = { name: "hello", namespace: "default" };

type Conditioned = { readonly conditions?: readonly Condition[] };
const database = defineResource<
  KubernetesObject & { spec: { engine: string }; status?: Conditioned }
>({
  group: "example.com",
  version: "v1",
  resource: "databases",
  kind: "Database",
  namespaced: true,
});
const ticket = defineResource<
  KubernetesObject & { spec: { question: string }; status?: { answered?: boolean } }
>({
  group: "help.example.com",
  version: "v1",
  resource: "tickets",
  kind: "Ticket",
  namespaced: true,
});
const team = defineResource<KubernetesObject & { spec: { contact: string }; status?: Conditioned }>(
  { group: "example.com", version: "v1", resource: "teams", kind: "Team", namespaced: false },
);

/** As an administrator of a cluster would have it, who has not seen the program. */
function definitionOf({ group, version, resource: plural, kind, namespaced }: Resource) {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const openAPIV3Schema = { type: "object", properties: { spec: anything, status: anything } };
  const one = { name: version, served: true, storage: true, subresources: { status: {} } };
  const versions = [{ ...one, schema: { openAPIV3Schema } }];
  const scope = namespaced ? "Namespaced" : "Cluster";
  return {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind }, versions },
  } as const;
}

/** One kubeconfig with a context for each of the servers. */
async function fleetKubeconfig(servers: readonly TestControlPlane[]): Promise<string> {
  const parts: Record<"clusters" | "users" | "contexts", object[]> = {
    clusters: [],
    users: [],
    contexts: [],
  };
  for (const [i, server] of servers.entries()) {
    const config = parseKubeconfig(await server.kubeconfig(), { trust: "inline" });
    const [cluster] = config.clusters.values();
    const [user] = config.users.values();
    const authority = cluster?.certificateAuthority;
    assert.ok(cluster !== undefined && authority !== undefined && "data" in authority);
    const name = `cluster-${i}`;
    const access = { server: cluster.server, "certificate-authority-data": btoa(authority.data) };
    parts.clusters.push({ name, cluster: access });
    parts.users.push({ name, user: { token: user?.token } });
    parts.contexts.push({ name, context: { cluster: name, user: name } });
  }
  return JSON.stringify({ ...parts, "current-context": "cluster-0" });
}

describe("a program that is copied from a guide", () => {
  let env: Readonly<Record<string, string>> = {};
  let connection: KubeconfigConnection;
  before(async () => {
    const kcp = join(installed(), "bin", "kcp.mjs");
    const root = join(folder, "root");
    const flags = ["--root-directory", root, "--secure-port", "0", "--storage", "memory"];
    const server = start([kcp, "start", ...flags, "--bind-address", "127.0.0.1"], {});
    await said(server, /kcp is ready/);
    env = { KUBECONFIG: join(root, "admin.kubeconfig") };
    connection = await connectDefault({ env });
  });
  after(() => connection.close());

  async function end(program: ChildProcess): Promise<void> {
    const ended = new Promise((done) => program.once("exit", done));
    program.kill("SIGINT");
    assert.equal(await ended, 0);
  }

  it("is a controller that reconciles an own kind against kcp start, and ends when asked to", async () => {
    const program = await programOf("controllers", "A controller of your own kind");
    const place = await project("controller", program);
    // The controller comes first, as it may: it says what is missing, and goes on when it is there.
    const controller = start([join(place, "main.js")], env);
    await said(
      controller,
      /warn {2}watch of websites\.v1\.example\.com: .*is not served here \(404\)/,
    );
    const { client } = connection;
    await client.json({
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      text: await readFile("examples/website.crd.yaml", "utf8"),
      contentType: "application/yaml",
    });
    const websites = client.resource(website);
    await eventually(() => websites.create({ metadata: at, spec: { title: "Hello" } }));
    await eventually(async () => assert.ok((await websites.get(at)).status?.ready));
    const { data } = await client.resource(configMaps).get(at);
    assert.deepEqual(data, { "index.html": "<h1>Hello</h1>" });
    await end(controller);
  });

  it("says in one line, without code of the package, that it has no kubeconfig", async () => {
    const KUBECONFIG = join(folder, "nowhere");
    const place = await project(
      "lost",
      await programOf("controllers", "A controller of your own kind"),
    );
    const ended = exec(process.execPath, [join(place, "main.js")], {
      env: { ...process.env, KUBECONFIG },
    });
    const { stderr } = (await ended.catch((error: unknown) => error)) as { stderr: string };
    assert.match(stderr, /KubeconfigError: there is no kubeconfig: KUBECONFIG is .*nowhere/);
    assert.ok(stderr.length < 500, stderr);
  });

  it("is a controller that works in all logical clusters, also in new ones", async () => {
    const place = await project("tiers", await programOf("controllers", "Outside of a test"));
    const controller = start([join(place, "main.js")], env);
    const isReady = said(controller, /caches are complete/);
    const { client } = connection;
    const tierIn = async (cluster: string, name: string) => {
      const { metadata } = await client.inCluster(cluster).resource(namespaces).get({ name });
      return metadata.labels?.["tier"];
    };
    await isReady;
    await eventually(async () => assert.equal(await tierIn("root", "default"), "free"));
    const metadata = { name: "later" };
    await client.resource(workspaces).create({ metadata });
    const later = client.inCluster("root:later").resource(namespaces);
    await eventually(() => later.create({ metadata: { name: "shop" } }));
    await eventually(async () => assert.equal(await tierIn("root:later", "shop"), "free"));
    await end(controller);
  });

  it("is a controller with owned objects, cached reads and conditions", async () => {
    const heading = "Owned objects, cached reads and conditions";
    const place = await project("shops", await programOf("recipes", heading));
    const controller = start([join(place, "main.js")], env);
    const shops = connection.client.resource(shop);
    const shelves = connection.client.resource(configMaps);
    const isOpen = async (expected: string, stocked: number) => {
      const { metadata, status } = await shops.get(at);
      const open = findCondition(status?.conditions, "Open");
      assert.equal(open?.status, expected);
      assert.equal(open.observedGeneration, metadata.generation);
      assert.equal(status?.stocked, stocked);
    };
    const stock = (n: number) =>
      shelves.apply({ metadata: { ...at, name: `hello-${n}` }, data: { some: "thing" } });
    await eventually(() => shops.create({ metadata: at, spec: { shelves: 2 } }));
    await eventually(() => isOpen("False", 0));
    await stock(0);
    await stock(1);
    await eventually(() => isOpen("True", 2));
    await shelves.delete({ ...at, name: "hello-1" });
    await eventually(() => isOpen("False", 1));
    await shops.patch(at, { type: "merge", patch: { spec: { shelves: 1 } } });
    await eventually(() => isOpen("True", 1));
    await assert.rejects(shelves.get({ ...at, name: "hello-1" }), { reason: "NotFound" });
    const { metadata } = await shelves.get({ ...at, name: "hello-0" });
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
      ["Shop hello"],
    );
    await end(controller);
  });

  it("is a controller of a custom resource that tenants define, in all logical clusters", async () => {
    const heading = "A custom resource in all logical clusters";
    const place = await project("databases", await programOf("many-clusters", heading));
    const { client } = connection;
    const definition = definitionOf(database);
    const defineIn = async (cluster: string) => {
      await client.resource(workspaces).create({ metadata: { name: cluster } });
      const there = client.inCluster(`root:${cluster}`);
      await eventually(() => there.resource(customResourceDefinitions).create(definition));
      const spec = { engine: "postgres" };
      await eventually(() => there.resource(database).create({ metadata: at, spec }));
      return there;
    };
    const isReady = async (there: Client) => {
      const { status } = await there.resource(database).get(at);
      assert.ok(isConditionTrue(status?.conditions, "Ready"));
      const { data } = await there.resource(secrets).get({ ...at, name: "hello-login" });
      assert.match(atob(data?.["url"] ?? ""), /^postgres:\/\/\w+\.db\.example\.com\/hello$/);
    };
    const controller = start([join(place, "main.js")], env);
    // No tenant has defined it yet.
    await said(controller, /caches are complete/);
    const first = await defineIn("one");
    await eventually(() => isReady(first), { timeoutMs: 30_000 });
    const second = await defineIn("two");
    await eventually(() => isReady(second), { timeoutMs: 30_000 });
    await end(controller);
  });

  it("is a controller of those who bind an export, which says what it waits for", async () => {
    const heading = "The consumers of an export";
    const place = await project("tickets", await programOf("many-clusters", heading));
    const controller = start([join(place, "main.js")], env);
    await said(
      controller,
      /no workspace has bound tickets yet. Next, .*bind apiexport root:tickets/,
    );
    const { client } = connection;
    await client.resource(workspaces).create({ metadata: { name: "asker" } });
    const asker = client.inCluster("root:asker");
    const claim = { resource: "configmaps", verbs: ["*"], state: "Accepted" } as const;
    const permissionClaims = [{ ...claim, selector: { matchAll: true } }];
    const spec = { reference: { export: { path: "root", name: "tickets" } }, permissionClaims };
    const metadata = { name: "tickets" };
    await eventually(() => asker.resource(apiBindings).create({ metadata, spec }));
    const question = { question: "Does it work?" };
    await eventually(() => asker.resource(ticket).create({ metadata: at, spec: question }));
    await eventually(async () => {
      assert.equal((await asker.resource(ticket).get(at)).status?.answered, true);
      const { data } = await asker.resource(configMaps).get({ ...at, name: "answer-hello" });
      assert.match(data?.["answer"] ?? "", /^Does it work\? Yes, \w+\.$/);
    });
    await end(controller);
  });

  it("is a controller of the clusters of a kubeconfig, with finalizers and conditions", async () => {
    const heading = "The clusters of a kubeconfig";
    const place = await project("teams", await programOf("many-clusters", heading));
    const servers = await Promise.all([startTestControlPlane(), startTestControlPlane()]);
    const kubeconfig = join(place, "kubeconfig");
    await writeFile(kubeconfig, await fleetKubeconfig(servers));
    const controller = start([join(place, "main.js")], { KUBECONFIG: kubeconfig });
    await said(
      controller,
      /cluster cluster-\d: watch of teams\.v1\.example\.com: .*is not served here \(404\)/,
    );
    const metadata = { name: "red" };
    for (const { client } of servers) {
      await client.resource(customResourceDefinitions).create(definitionOf(team));
      await eventually(() =>
        client.resource(team).create({ metadata, spec: { contact: "red@example.com" } }),
      );
    }
    for (const { client } of servers) {
      await eventually(
        async () => {
          const { status } = await client.resource(team).get(metadata);
          assert.ok(isConditionTrue(status?.conditions, "Ready"));
        },
        { timeoutMs: 30_000 },
      );
      await client.resource(team).delete(metadata);
      await eventually(async () => {
        assert.equal(await client.resource(team).find(metadata), undefined);
        assert.equal(await client.resource(namespaces).find(metadata), undefined);
      });
    }
    await end(controller);
    for (const server of servers) await server.close();
  });

  for (const [guide, heading, output] of [
    ["testing", "Every crash, every fault", "no fault breaks it\n"],
    ["types", "From TypeScript to a definition", "the definition is served\n"],
  ] as const) {
    it(`does what "${heading}" says`, async () => {
      const place = await project(guide, await programOf(guide, heading));
      const { stdout, stderr } = await exec(process.execPath, [join(place, "main.js")], {
        timeout: 120_000,
      });
      assert.equal(stdout, output);
      assert.equal(stderr, "");
    });
  }
});

describe("a program with every strict setting", () => {
  it("needs no cast for indexes, conditions, owned objects and partial applies", async () => {
    await project("strict", strictProgram);
  });

  it("names the value of an apply that has the wrong type", async () => {
    const wrong = strictProgram.replace("replicas: 3", 'replicas: "3"');
    await assert.rejects(project("wrong", wrong), /main\.ts.*No overload matches/);
  });
});

const strictProgram = `
import { configMaps, cronJobs, deployments, pods, secrets, type Deployment } from "kcp-ts/kinds";
import { conditions, defineKind, int32, list, object, string } from "kcp-ts/schema";
import { connectDefault, controlledBy, controllerFor, findCondition, run, setCondition } from "kcp-ts/sdk";

const { client } = await connectDefault();
const at = { name: "web", namespace: "default" };
const apply = { metadata: at, spec: { replicas: 3 } };
await client.resource(deployments).apply(apply, { fieldManager: "scaler" });
const web: Deployment = await client.resource(deployments).get(at);
await client.resource(deployments).setStatus(web, { replicas: undefined, readyReplicas: 3 });
const nightly = { schedule: "@daily", suspend: web.spec?.paused, jobTemplate: { spec: { parallelism: web.spec?.replicas, template: {} } } };
await client.resource(cronJobs).create({ metadata: at, spec: nightly });

const shops = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Shop",
  spec: object({ items: list(string()) }),
  status: object({ count: int32(), conditions: conditions() }),
});
const shopping = controllerFor(shops, {
  indexers: { first: { values: ({ spec }) => spec.items?.slice(0, 1) ?? [] } },
})
  .owns(pods)
  .watches(secrets, ({ metadata }, key) => [{ ...key, name: metadata.name }])
  .finalizes("example.com/till", async ({ metadata }, { log }) => log.info(metadata.name))
  .reconcile(async (shop, { client, cached, key }) => {
    const { namespace, generation } = shop.metadata;
    const isReady = (status: (typeof mine)[number]["status"]) =>
      findCondition(status?.conditions, "Ready")?.status === "True";
    const mine = cached(pods).ownedBy(shop);
    const count = mine.filter(({ status }) => isReady(status)).length;
    const same = cached(shops).byIndex("first", shop.spec.items?.[0] ?? "");
    const metadata = { name: key.name, namespace, ownerReferences: [controlledBy(shop)], labels: undefined };
    await client.resource(configMaps).apply({ metadata, data: undefined }, { fieldManager: "shops" });
    const condition = { type: "Open", status: "True", reason: "Stocked", message: "" } as const;
    await client.resource(shops).setStatus(shop, {
      count: count === 0 ? undefined : count,
      conditions: setCondition(shop.status?.conditions, { ...condition, observedGeneration: generation }),
    });
    return same.length > 1 ? { requeueAfterMs: 1000 } : undefined;
  });
await run({ controllers: [shopping] });
`;

describe("the recipe of a test", () => {
  const heading = "A test in node:test, vitest and jest";
  const jestSettings = { NODE_OPTIONS: "--experimental-vm-modules" };
  for (const [name, args, env] of [
    ["vitest", ["run"], {}],
    ["jest", [], jestSettings],
  ] as const) {
    it(`passes in ${name}`, { timeout: 120_000 }, async (t) => {
      const variable = name.toUpperCase();
      const command = process.env[variable];
      if (command === undefined) return t.skip(`${name} is not at hand: ${variable} says where`);
      const program = await programOf("recipes", heading);
      const place = await testProject(
        name,
        name === "jest" ? program.replace(/^.*\n/, "") : program,
      );
      await exec(command, [...args], { cwd: place, env: { ...process.env, ...env } });
    });
  }

  it("passes in node:test", async () => {
    const program = (await programOf("recipes", heading)).replace('"vitest"', '"node:test"');
    const place = await testProject("node-test", program);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await exec(process.execPath, ["--test"], { cwd: place, env });
    assert.match(stdout, /pass 1/);
  });
});

/** Binaries of Node.js that run TypeScript as it is, from `NODES`. */
const stripping = [process.execPath, ...(process.env["NODES"] ?? "").split(delimiter)].filter(
  (path) => path !== "" && stripsTypes(path),
);

function stripsTypes(path: string): boolean {
  const version = execFileSync(path, ["--version"], { encoding: "utf8" }).trim().slice(1);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

const noNode = "no Node.js of 22.18 or later is at hand: NODES says where";

describe("the recipe of TypeScript without a build", () => {
  const runtimes = [
    ["Node.js", stripping[0], [], noNode],
    ["tsx", process.env["TSX"], [], "tsx is not at hand: TSX says where"],
    ["Bun", process.env["BUN"], [], "Bun is not at hand: BUN says where"],
    ["Deno", process.env["DENO"], ["run", "--allow-all"], "Deno is not at hand: DENO says where"],
  ] as const;
  for (const [name, command, args, missing] of runtimes) {
    it(`runs in ${name}`, { timeout: 120_000 }, async (t) => {
      if (command === undefined) return t.skip(missing);
      const place = join(folder, `direct-${name}`);
      await mkdir(place);
      await writeFile(join(place, "package.json"), '{ "type": "module" }');
      await writeFile(
        join(place, "main.ts"),
        await programOf("testing", "Every crash, every fault"),
      );
      const { stdout } = await exec(command, [...args, "main.ts"], { cwd: place });
      assert.equal(stdout, "no fault breaks it\n");
    });
  }
});

describe("the recipe of a container", () => {
  it("installs, starts and stops as its lines say", { timeout: 120_000 }, async (t) => {
    const [node] = stripping;
    if (node === undefined) return t.skip(noNode);
    const text = await readFile("docs/guides/recipes.md", "utf8");
    const [, lines = ""] = /```text\n(FROM .*?)```/s.exec(text) ?? [];
    const [, steps] = /^RUN npm (.*)$/m.exec(lines) ?? [];
    const [, started] = /^CMD (.*)$/m.exec(lines) ?? [];
    assert.ok(steps !== undefined && started !== undefined);
    const place = join(folder, "container");
    await mkdir(place);
    await writeFile(join(place, "package.json"), '{ "type": "module" }');
    await npm(place, "install", tarball);
    await rm(join(place, "node_modules"), { recursive: true });
    const heading = "Owned objects, cached reads and conditions";
    await writeFile(join(place, "main.ts"), await programOf("recipes", heading));
    await npm(place, ...steps.split(" "));
    const [command, ...args] = JSON.parse(started) as string[];
    assert.equal(command, "node");
    const server = await startTestControlPlane();
    const kubeconfig = join(place, "kubeconfig");
    await writeFile(kubeconfig, await server.kubeconfig());
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const program = spawn(node, args, { cwd: place, env });
    children.push(program);
    await said(program, /caches are complete/);
    const ended = new Promise((done) => program.once("exit", done));
    program.kill("SIGTERM");
    assert.equal(await ended, 0);
    await server.close();
  });
});

async function testProject(name: string, program: string): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  await writeFile(join(place, "package.json"), '{ "type": "module", "jest": { "transform": {} } }');
  await writeFile(join(place, "first.test.js"), program);
  return place;
}
