/** What users do with lists, objects, workspaces and clusters, in a real browser. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { Middleware } from "@kcp-ts/controlplane";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Page } from "playwright-core";
import {
  browserMissing,
  ConsoleEnvironment,
  namespace,
  seriousFindings,
  until,
} from "./console-environment.ts";
import { layoutBreaks } from "./layout-breaks.ts";

/** Reads every logical cluster. */
const privileged = "token-of-an-operator";

/** Ends the watches of ConfigMaps, and answers the next one as the server does after compaction. */
class ExpiringWatches {
  lists = 0;
  #expired = 0;
  #cut: (() => void) | undefined;
  #isArmed = false;

  readonly middleware: Middleware = async (request, next) => {
    if (!request.target.includes("/root/api/v1/namespaces/default/configmaps?"))
      return next(request);
    if (!request.target.includes("watch=true")) {
      this.lists++;
      return next(request);
    }
    if (this.#isArmed) {
      this.#isArmed = false;
      this.#expired++;
      const status = {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Expired",
        code: 410,
      };
      const event = { type: "ERROR", object: { ...status, message: "too old resource version" } };
      const headers = { "content-type": "application/json" };
      return { status: 200, headers, body: new TextEncoder().encode(`${JSON.stringify(event)}\n`) };
    }
    const response = await next(request);
    const cut = new Promise<"cut">((resolve) => {
      this.#cut = () => resolve("cut");
    });
    const chunks = (response.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    async function* untilCut() {
      try {
        for (;;) {
          const chunk = await Promise.race([chunks.next(), cut]);
          if (chunk === "cut") throw new Error("cut");
          if (chunk.done === true) return;
          yield chunk.value.slice();
        }
      } finally {
        await chunks.return?.();
      }
    }
    return { status: response.status, headers: response.headers, body: untilCut(), isWatch: true };
  };

  get expired(): number {
    return this.#expired;
  }

  expire(): void {
    this.#isArmed = true;
    this.#cut?.();
  }
}

describe("the console", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  let folder: string;
  const watches = new ExpiringWatches();
  const pages: Page[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "kcp-console-tokens-"));
    const tokenAuthFile = join(folder, "tokens.csv");
    await writeFile(tokenAuthFile, `${privileged},operator,operator,"system:masters"\n`);
    environment = await ConsoleEnvironment.open([watches.middleware], { tokenAuthFile });
  });
  after(async () => {
    await environment.close();
    await rm(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    const problems = environment.problems.splice(0);
    assert.deepEqual(problems, [], "policies were violated, or scripts failed");
  });

  const open = async (path: string, token?: string) => {
    const page = await environment.page(path, token);
    pages.push(page);
    return page;
  };
  const maps = () => environment.client.resource(kinds.configMaps);
  const link = (page: Page, name: string) => page.getByRole("link", { name, exact: true });
  const firstCells = (page: Page) => page.locator("table.data tbody a").allInnerTexts();

  it("a list is sorted by a column, downwards by a second click, and as the address says", async () => {
    for (const [name, count] of [
      ["sorted-2", 1],
      ["sorted-10", 3],
      ["sorted-1", 2],
    ] as const)
      await maps().create({
        metadata: { name, namespace },
        data: Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, ""])),
      });
    const page = await open("c/root/list/configmaps?ns=default&name=sorted-");
    await link(page, "sorted-10").waitFor();
    assert.deepEqual(await firstCells(page), ["sorted-1", "sorted-10", "sorted-2"]);
    const column = (name: string) => page.getByRole("columnheader", { name });
    const sorted = async (direction: string, name: string) => {
      await page.locator(`th[aria-sort=${direction}]`, { hasText: name }).waitFor();
      return firstCells(page);
    };
    await column("Name").getByRole("button").click();
    assert.deepEqual(await sorted("ascending", "Name"), ["sorted-1", "sorted-2", "sorted-10"]);
    await column("Data").getByRole("button").click();
    assert.deepEqual(await sorted("ascending", "Data"), ["sorted-2", "sorted-1", "sorted-10"]);
    await column("Data").getByRole("button").click();
    assert.deepEqual(await sorted("descending", "Data"), ["sorted-10", "sorted-1", "sorted-2"]);
    assert.match(page.url(), /sort=-Data/);
    await page.reload();
    assert.deepEqual(await sorted("descending", "Data"), ["sorted-10", "sorted-1", "sorted-2"]);
    await maps().patch(
      { name: "sorted-2", namespace },
      { type: "merge", patch: { data: { a: "", b: "", c: "", d: "", e: "" } } },
    );
    await until(
      "the changed row comes first",
      async () => (await firstCells(page))[0] === "sorted-2",
    );
  });

  it("the wildcard view names the logical cluster of each row, and leads into it", async () => {
    const { client } = environment;
    await client.resource(kinds.workspaces).create({ metadata: { name: "other" } });
    const inside = client.inCluster("root:other").resource(kinds.configMaps);
    const data = { from: "other" };
    await until("the workspace takes objects", async () => {
      await inside.create({ metadata: { name: "wild-other", namespace }, data });
      return true;
    });
    await maps().create({ metadata: { name: "wild-root", namespace } });
    const { metadata } = await inside.get({ name: "wild-other", namespace });
    const cluster = metadata.annotations?.["kcp.io/cluster"] ?? "";
    assert.notEqual(cluster, "");
    const refused = await open("c/*/list/configmaps?name=wild-");
    await refused.getByText("You may not see this").waitFor();
    await refused.locator(".connection.live").waitFor();
    const page = await open("c/*/list/configmaps?name=wild-", privileged);
    await page.getByRole("columnheader", { name: "Cluster" }).waitFor();
    await page.getByRole("row", { name: new RegExp(`^${cluster} default wild-other`) }).waitFor();
    await page.getByRole("row", { name: /^root default wild-root/ }).waitFor();
    assert.equal(await page.getByLabel("Select wild-root").count(), 0, "nothing is changed there");
    await link(page, "wild-other").click();
    await page.getByRole("heading", { level: 1, name: /wild-other/ }).waitFor();
    assert.ok(
      page.url().includes(`/c/${cluster}/object/configmaps/default/wild-other`),
      page.url(),
    );
  });

  it("selected objects are deleted together, as they were seen", async () => {
    const names = ["doomed-a", "doomed-b", "doomed-c"];
    for (const name of names) await maps().create({ metadata: { name, namespace } });
    const page = await open("c/root/list/configmaps?ns=default&name=doomed-");
    for (const name of names) await page.getByLabel(`Select ${name}`).check();
    // Another object of its name is not what was seen.
    await maps().delete({ name: "doomed-b", namespace });
    await maps().create({ metadata: { name: "doomed-b", namespace }, data: { new: "" } });
    await page.getByRole("button", { name: "Delete 3…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 3 configmaps" });
    await dialog.getByText("default/doomed-c").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog
      .getByRole("alert")
      .getByText(/doomed-b/)
      .first()
      .waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await link(page, "doomed-c").waitFor({ state: "detached" });
    assert.deepEqual(await firstCells(page), ["doomed-b"]);
    const { items } = await maps().list({ namespace });
    const left = items.map(({ metadata }) => metadata.name).filter((name) => names.includes(name));
    assert.deepEqual(left, ["doomed-b"]);
  });

  it("a list whose version has expired is listed again, and shows what happened meanwhile", async () => {
    for (const name of ["expired-a", "expired-b"])
      await maps().create({ metadata: { name, namespace } });
    const page = await open("c/root/list/configmaps?ns=default&name=expired-");
    await link(page, "expired-b").waitFor();
    await page.locator(".connection.live").waitFor();
    const { lists, expired } = watches;
    watches.expire();
    await until(
      "the page lists again",
      async () => watches.expired > expired && watches.lists > lists,
    );
    await maps().delete({ name: "expired-a", namespace });
    await maps().create({ metadata: { name: "expired-c", namespace } });
    await link(page, "expired-c").waitFor();
    await link(page, "expired-a").waitFor({ state: "detached" });
    await page.locator(".connection.live").waitFor();
    assert.deepEqual(await firstCells(page), ["expired-b", "expired-c"]);
  });

  it("an object page leads to its owners, and shows its Events as they happen", async () => {
    const owner = await maps().create({ metadata: { name: "event-owner", namespace } });
    const { name, uid = "" } = owner.metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name, uid }];
    const owned = await maps().create({
      metadata: { name: "event-owned", namespace, ownerReferences },
    });
    const page = await open("c/root/object/configmaps/default/event-owned");
    await page.getByText("None in the last hour.").waitFor();
    const hostile = "\u202eevil <img src=x onerror=alert(1)>";
    const involvedObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace,
      name: "event-owned",
      uid: owned.metadata.uid,
    };
    await environment.client
      .resource(kinds.events)
      .create({
        metadata: { name: "event-owned.1", namespace },
        involvedObject,
        type: "Warning",
        reason: "Troubled",
        message: hostile,
        count: 3,
        lastTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
      } as never);
    const events = page.getByRole("region", { name: "Events" });
    const row = events.getByRole("row", { name: /×3 Warning Troubled/ });
    await row.waitFor();
    assert.ok((await row.innerText()).includes(hostile));
    assert.equal(await events.locator("img").count(), 0);
    await page
      .getByRole("region", { name: "Owners" })
      .getByRole("link", { name: "ConfigMap event-owner" })
      .click();
    await page.getByRole("heading", { level: 1, name: /event-owner/ }).waitFor();
  });

  it("a workspace is created of the type that is chosen, and says who may enter", async () => {
    const page = await open("c/root");
    const create = page.getByRole("button", { name: "Create workspace" });
    await until("the user may create", () => create.isEnabled());
    await create.click();
    await page.getByLabel("Name", { exact: true }).fill("typed");
    await page.locator("datalist option[value='root:organization']").waitFor({ state: "attached" });
    await page.getByLabel(/^Type; the default/).fill("root:organization");
    await page.getByText("kubectl ws create typed --type root:organization").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "root:typed", exact: true }).waitFor();
    await page.getByText("root:organization", { exact: true }).waitFor();
    const { spec } = await environment.client.resource(kinds.workspaces).get({ name: "typed" });
    assert.equal(spec?.type?.name, "organization");
    const inside = environment.client.inCluster("root:typed");
    const rule = { nonResourceURLs: ["/"], verbs: ["access"] };
    await inside
      .resource(kinds.clusterRoles)
      .create({ metadata: { name: "enter" }, rules: [rule] });
    const apiGroup = "rbac.authorization.k8s.io";
    await inside
      .resource(kinds.clusterRoleBindings)
      .create({
        metadata: { name: "enter" },
        roleRef: { apiGroup, kind: "ClusterRole", name: "enter" },
        subjects: [{ apiGroup, kind: "Group", name: "friends" }],
      });
    await page.getByRole("link", { name: "Who may enter" }).click();
    const entry = page.getByRole("region", { name: "Who may enter this workspace" });
    await entry.getByText(/Group friends.*; and administrators of the server/).waitFor();
  });

  it("a cluster is registered with its kubeconfig, and becomes ready", async () => {
    const { client } = environment;
    await client.resource(kinds.workspaces).create({ metadata: { name: "fleet" } });
    const kubeconfig = await environment.startCluster("eu-north1");
    const page = await open("c/root:fleet/clusters");
    await page.getByText("No cluster is registered here.").waitFor();
    const register = page.getByRole("button", { name: "Register cluster" });
    await until("the user may register", () => register.isEnabled());
    await register.click();
    const dialog = page.getByRole("dialog", { name: "Register cluster" });
    await dialog.getByLabel("Name", { exact: true }).fill("eu-north1");
    await dialog.getByLabel("Kubeconfig").fill("not: a kubeconfig");
    await dialog.getByRole("button", { name: "Register", exact: true }).click();
    await dialog.getByRole("alert").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await dialog.getByLabel("Kubeconfig").fill(kubeconfig);
    await dialog.getByRole("button", { name: "Register", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /^eu-north1 Ready v1\.\d+\S* Push/ }).waitFor();
  });

  it("only what is wrong is listed, until it is no longer", async () => {
    const deployments = environment.client.inCluster("root:fleet").resource(kinds.deployments);
    const labels = { app: "x" };
    const resources = { requests: { cpu: "10000" } };
    const containers = [{ name: "a", image: "a:1", resources }];
    // Nothing has room for these; one of them wants nothing.
    for (const [name, replicas] of [
      ["idle", 0],
      ["stuck", 2],
    ] as const)
      await until("deployments are served", async () => {
        const template = { metadata: { labels }, spec: { containers } };
        const spec = { replicas, selector: { matchLabels: labels }, template };
        await deployments.create({ metadata: { name, namespace }, spec } as never);
        return true;
      });
    const page = await open("c/root:fleet/list/deployments.apps?ns=default");
    await link(page, "idle").waitFor();
    await page.getByLabel("Only what is wrong").check();
    await link(page, "idle").waitFor({ state: "detached" });
    await link(page, "stuck").waitFor();
    assert.match(page.url(), /wrong=true/);
    await page.getByText(/^1 shown of \d objects$/).waitFor();
    const patch = { spec: { replicas: 0 } };
    await deployments.patch({ name: "stuck", namespace }, { type: "merge", patch });
    await link(page, "stuck").waitFor({ state: "detached" });
    await page.getByLabel("Only what is wrong").uncheck();
    await link(page, "stuck").waitFor();
  });

  it("right-to-left and 300 kB texts are shown as text, and break no layout", async () => {
    const rtl = "\u0645\u0631\u062d\u0628\u0627 \u202eevil\u202c \u05e9\u05dc\u05d5\u05dd";
    const long = "x".repeat(200_000);
    await maps().create({
      metadata: {
        name: "strange",
        namespace,
        annotations: { "example.com/rtl": rtl, "example.com/long": long },
      },
      data: { long: `${long}${"y".repeat(100_000)}`, [`k-${"z".repeat(200)}`]: rtl },
    });
    const page = await open("c/root/object/configmaps/default/strange");
    await page.getByText(rtl).waitFor();
    await page.getByText(/^x{200}$/).waitFor();
    await page.getByRole("button", { name: "… show all 200,000 characters" }).waitFor();
    assert.deepEqual(await layoutBreaks(page), []);
    await page.getByRole("tab", { name: "YAML" }).click();
    const yaml = page.locator("pre.yaml");
    await yaml.waitFor();
    assert.ok((await yaml.innerText()).length < 70_000);
    assert.deepEqual(await layoutBreaks(page), []);
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    await page.getByText("The first 64,000 of").waitFor({ state: "detached" });
    const text = await yaml.innerText();
    assert.ok(text.includes("y".repeat(1000)) && text.includes("\u0645\u0631\u062d\u0628\u0627"));
    assert.deepEqual(await layoutBreaks(page), []);
    const list = await open("c/root/list/configmaps?ns=default&name=strange");
    await link(list, "strange").waitFor();
    assert.deepEqual(await layoutBreaks(list), []);
  });
});
