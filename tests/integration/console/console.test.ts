/** The console in a real browser, on a control plane with two simulated clusters. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { Middleware } from "@kcp-ts/controlplane";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Page } from "playwright-core";
import {
  browserMissing,
  ConsoleEnvironment,
  namespace,
  seriousFindings,
  serviceAccountToken,
  tokenOf,
  until,
} from "./console-environment.ts";
import { checkScreenshot } from "./screenshots.ts";

/** Cuts the next watch of ConfigMaps in the middle of an event's line. */
let cutsAfterBytes: number | undefined;
const cutWatches: Middleware = async (request, next) => {
  const response = await next(request);
  const { body } = response;
  const isWatch = request.target.includes("/configmaps?") && request.target.includes("watch=true");
  if (!isWatch || cutsAfterBytes === undefined || body === undefined) return response;
  const bytesMax = cutsAfterBytes;
  cutsAfterBytes = undefined;
  async function* cut() {
    let left = bytesMax;
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      yield chunk.slice(0, left);
      left -= chunk.length;
      if (left <= 0) throw new Error("cut");
    }
  }
  return { status: response.status, headers: response.headers, body: cut(), isWatch: true };
};

describe("the console", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  const pages: Page[] = [];

  before(async () => {
    environment = await ConsoleEnvironment.open([cutWatches]);
    await environment.placeWorkload();
  });
  after(() => environment.close());
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
  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const configMaps = () => environment.client.resource(kinds.configMaps);

  it("a token logs in, a wrong one is refused, and the place stays", async () => {
    const page = await open("c/root/clusters", "");
    await page.getByRole("textbox", { name: "Token" }).fill("wrong");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByText("The server does not accept this token.").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByRole("textbox", { name: "Token" }).fill(environment.token);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await heading(page, "Clusters");
    await page.getByText("kcp-admin").waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("textbox", { name: "Token" }).waitFor();
    assert.equal(await page.evaluate('sessionStorage.getItem("kcp-console-token")'), null);
  });

  it("a workspace is created, found in the tree and gone to, by keys alone", async () => {
    const page = await open("c/root");
    await heading(page, "root");
    const create = page.getByRole("button", { name: "Create workspace" });
    await until("the user may create", () => create.isEnabled());
    await create.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name", { exact: true }).focus();
    await page.keyboard.type("team-a");
    await page.keyboard.press("Enter");
    await heading(page, "root:team-a");
    await page.getByText("This workspace has no children.").waitFor();
    const box = page.getByRole("combobox", { name: /^Workspace, kind/ });
    await page.keyboard.press("Control+k");
    await box.waitFor();
    await page.keyboard.type("root");
    await page.keyboard.press("Enter");
    await heading(page, "root");
    await page.getByRole("treeitem").getByRole("link", { name: "team-a" }).waitFor();
    await page.locator("main").focus();
    await page.keyboard.press("/");
    await box.waitFor();
    await page.keyboard.type("deployments.apps");
    await page.getByRole("option", { name: "deployments.apps kind" }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, "Deployment");
    assert.deepEqual(await seriousFindings(page), []);
  });

  it("the go-to box completes workspaces and objects, and Enter goes to what is there", async () => {
    await configMaps().create({ metadata: { name: "sought-after", namespace } });
    const { client } = environment;
    await client.resource(kinds.workspaces).create({ metadata: { name: "found" } });
    const page = await open("c/root");
    const type = async (text: string, option: string, title: string | RegExp) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /^Workspace, kind/ }).waitFor();
      await page.keyboard.type(text);
      await page.getByRole("option", { name: option, selected: true }).waitFor();
      await page.keyboard.press("Enter");
      await heading(page, title);
    };
    await heading(page, "root");
    await type("configmap/sou", "configmap/default/sought-after object", /default\/sought-after/);
    await type("deployment-w", "deployment-web in default placement", /^Placement of/);
    await type("root:fou", "root:found workspace", "root:found");
  });

  it("a narrow window has the same ways in a menu, by keys alone", async () => {
    const page = await open("c/root/clusters");
    await heading(page, "Clusters");
    await page.setViewportSize({ width: 400, height: 800 });
    const placements = page.getByRole("link", { name: "Placements", exact: true });
    assert.equal(await placements.isVisible(), false);
    const menu = page.getByRole("button", { name: "Menu" });
    await menu.focus();
    await page.keyboard.press("Enter");
    assert.equal(await menu.getAttribute("aria-expanded"), "true");
    assert.deepEqual(await seriousFindings(page), []);
    await page.keyboard.press("Escape");
    await placements.waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
    await placements.focus();
    await page.keyboard.press("Enter");
    await heading(page, "WorkloadPlacement");
    await placements.waitFor({ state: "hidden" });
  });

  it("a workspace is deleted when its name is typed, with the count of what goes along", async () => {
    const { client } = environment;
    await client.resource(kinds.workspaces).create({ metadata: { name: "leaving" } });
    const inside = client.inCluster("root:leaving").resource(kinds.workspaces);
    await until("it has a child", async () => {
      await inside.create({ metadata: { name: "child" } });
      return true;
    });
    const page = await open("c/root:leaving");
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByText("1 child workspaces with what is in them").waitFor();
    const remove = page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true });
    assert.equal(await remove.isDisabled(), true);
    await page.getByLabel("Type leaving to delete it").fill("leaving");
    await remove.click();
    await heading(page, "root");
    await until("it is gone", async () => {
      const found = await client.resource(kinds.workspaces).find({ name: "leaving" });
      return found === undefined || found.metadata.deletionTimestamp !== undefined;
    });
  });

  it("every page shows the line for a terminal", async () => {
    const page = await open("c/root");
    for (const [path, title, line] of [
      ["c/root", "root", "kubectl ws :root"],
      ["c/root/list/pods?ns=default", "Pod", "kubectl get pods -n default"],
      ["c/root/object/deployments.apps/default/web", /Deployment/, "kubectl get deployments.apps"],
      ["c/root/object/deployments.apps/default/web?tab=yaml", /Deployment/, "-o yaml"],
      ["c/root/placements", "WorkloadPlacement", "workloadplacements"],
      ["c/root/placement/default/deployment-web", /Placement/, "kubectl get wp -n default"],
      ["c/root/clusters", "Clusters", "kubectl get synctargets"],
      ["c/root/cluster/us-east1", /us-east1/, "kubectl describe synctarget us-east1"],
      ["c/root/create/configmaps", /Create ConfigMap/, "kubectl create -f configmap.yaml"],
      ["c/root/sharing", "Sharing", "kubectl get apiexports,apibindings"],
      ["c/root/access", "Access", "kubectl get clusterroles,clusterrolebindings"],
      ["c/root/usage", "Usage", "kubectl describe resourcequotas -A"],
      ["c/root/audit", "Audit", "kcp start --audit-policy-file"],
      ["c/root/logs/deployments.apps/default/web", /^Logs/, "deployment/web --all-containers"],
      ["c/*/list/configmaps", "ConfigMap", 'kubectl get configmaps --server "$SERVER/clusters/*"'],
    ] as const) {
      await page.goto(`${environment.plane.url}/console/${path}`);
      await heading(page, title);
      await page.locator(".kubectl code").filter({ hasText: line }).first().waitFor();
      await page.locator(".connection.live").waitFor();
    }
  });

  it("a list follows changes, and its filters are in the address", async () => {
    const page = await open("c/root/list/configmaps?ns=default");
    await heading(page, "ConfigMap");
    const link = (name: string) => page.getByRole("link", { name, exact: true });
    await configMaps().create({ metadata: { name: "seen", namespace, labels: { a: "b" } } });
    await link("seen").waitFor();
    await page.getByLabel("Labels").fill("a=b");
    await page.keyboard.press("Enter");
    await page.getByText("1 object", { exact: true }).waitFor();
    assert.match(page.url(), /labels=a%3Db/);
    await configMaps().create({ metadata: { name: "unseen", namespace } });
    await configMaps().create({ metadata: { name: "also", namespace, labels: { a: "b" } } });
    await link("also").waitFor();
    assert.equal(await link("unseen").count(), 0);
    await configMaps().delete({ name: "seen", namespace });
    await link("seen").waitFor({ state: "detached" });
    await page.reload();
    await link("also").waitFor();
    assert.equal(await link("unseen").count(), 0);
  });

  it("a watch that is cut in the middle of a line heals, without loss or repetition", async () => {
    cutsAfterBytes = 400;
    const page = await open("c/root/list/configmaps?ns=default&name=cut-");
    await heading(page, "ConfigMap");
    await page.locator(".connection.live").waitFor();
    for (let at = 0; at < 6; at++)
      await configMaps().create({ metadata: { name: `cut-${at}`, namespace } });
    await page.getByText(/^6 shown of/).waitFor();
    assert.equal(await page.getByRole("link", { name: /^cut-/ }).count(), 6);
    assert.equal(cutsAfterBytes, undefined);
  });

  it("hostile content is text", async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const metadata = {
      name: "hostile",
      namespace,
      annotations: { "example.com/html": hostile, "example.com/rtl": "\u202e\u0627\u0628 evil" },
      labels: { "a.b-c/e_F": "A_b.C-d" },
    };
    await configMaps().create({ metadata, data: { html: hostile, long: "x".repeat(300_000) } });
    const page = await open("c/root/object/configmaps/default/hostile");
    await page.getByText(hostile).first().waitFor();
    await page.getByRole("tab", { name: "YAML" }).click();
    await page.locator("pre.yaml").waitFor();
    const drawn = () => page.locator("pre.yaml").innerText();
    assert.ok((await drawn()).includes("x".repeat(1000)));
    assert.ok((await drawn()).length < 70_000, "what is drawn at once is bounded");
    await page.getByText(/^The first 64,000 of 30\d,\d{3} characters\./).waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await until("all is drawn", async () => (await drawn()).includes("x".repeat(300_000)));
    await page.getByRole("tab", { name: "Overview" }).click();
    assert.deepEqual(await bidiLeaks(page), [], "texts from right to left are isolated");
    assert.match(await page.title(), /hostile/);
    assert.equal(await page.locator("main img").count(), 0);
    const odd = await open(`c/root/object/configmaps/default/${encodeURIComponent("<b>x</b>")}`);
    await odd.getByText("<b>x</b> does not exist").waitFor();
  });

  it("names with every legal character are text, links, and words of the line for a terminal", async () => {
    // Names of RBAC are parts of a path: all characters but a slash and a percent sign are legal.
    const name = `<b onclick=x>:"&?#+~ ;$(id) 'it\\ \u202e\u0627\u0628`;
    await environment.client
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      });
    const kind = "clusterroles.rbac.authorization.k8s.io";
    const page = await open(`c/root/list/${kind}?name=${encodeURIComponent("<b onclick")}`);
    const link = page.getByRole("link", { name, exact: true });
    await link.click();
    await heading(page, `ClusterRole ${name}`);
    assert.equal(await page.locator("main b").count(), 0);
    assert.deepEqual(await bidiLeaks(page), [], "names from right to left are isolated");
    const line = await page.locator(".kubectl code").first().innerText();
    assert.ok(line.includes(` $'<b onclick=x>:"&?#+~ ;$(id) \\'it\\\\ \\U0000202e`), line);
    await page.getByRole("tab", { name: "YAML" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const area = page.getByRole("textbox", { name: `YAML of ${name}` });
    await area.fill((await area.inputValue()).replace("- get", "- list"));
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.getByRole("button", { name: "Write" }).click();
    await page.getByText("Written.").waitFor();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(page, "ClusterRole");
    assert.equal(await environment.client.resource(kinds.clusterRoles).find({ name }), undefined);
  });

  it("a change is reviewed as a difference and written; that of another tab is one, too", async () => {
    const metadata = { name: "edited", namespace };
    await configMaps().create({ metadata, data: { color: "red" } });
    const page = await open("c/root/object/configmaps/default/edited?tab=yaml");
    const edit = async (tab: Page, from: string, to: string) => {
      await tab.getByRole("button", { name: "Edit", exact: true }).click();
      const area = tab.getByRole("textbox", { name: "YAML of edited" });
      await area.fill((await area.inputValue()).replace(from, to));
    };
    await edit(page, "color: red", "color: green");
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.locator(".diff .added", { hasText: "color: green" }).waitFor();
    await page.locator(".diff .removed", { hasText: "color: red" }).waitFor();
    const stored = async () => (await configMaps().get(metadata)).data;
    assert.deepEqual(await stored(), { color: "red" }, "a review writes nothing");
    await page.getByRole("button", { name: "Write" }).click();
    await page.getByText("Written.").waitFor();
    assert.deepEqual(await stored(), { color: "green" });
    const other = await open("c/root/object/configmaps/default/edited?tab=yaml");
    await edit(page, "color: green", "color: blue");
    await edit(other, "color: green", "color: green\n  size: large");
    for (const button of ["Review the change", "Write"])
      await other.getByRole("button", { name: button }).click();
    await other.getByText("Written.").waitFor();
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.getByText("Another client has changed this object").waitFor();
    await page
      .getByLabel("What others changed")
      .locator(".added", { hasText: "size: large" })
      .waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByRole("button", { name: "Continue from the newest version" }).click();
    const area = page.getByRole("textbox", { name: "YAML of edited" });
    await area.fill((await area.inputValue()).replace("color: blue", "color: blue\n  size: small"));
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.getByRole("button", { name: "Write" }).click();
    await page.getByText("Written.").waitFor();
    assert.deepEqual(await stored(), { color: "blue", size: "small" });
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(page, "ConfigMap");
    assert.equal(await configMaps().find(metadata), undefined);
  });

  it("an object is created from YAML after a review, and what is invalid is said", async () => {
    const page = await open("c/root/create/configmaps");
    const area = page.getByRole("textbox", { name: "YAML of the new ConfigMap" });
    await area.fill("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\nmistake: 1\n");
    await page.getByRole("button", { name: "Review" }).click();
    await page
      .getByRole("alert")
      .getByText(/unknown field "mistake"/)
      .waitFor();
    await area.fill("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {a: b}\n");
    await page.getByRole("button", { name: "Review" }).click();
    await page.getByLabel("What the server would add").waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await heading(page, /default\/new/);
    assert.deepEqual((await configMaps().get({ namespace, name: "new" })).data, { a: "b" });
  });

  it("a placement says where and why, and what a drain and a loss would do", async () => {
    const page = await open("c/root/placement/default/deployment-web");
    await page.getByText("4 / 4").first().waitFor();
    await page.getByRole("heading", { name: "History of decisions" }).waitFor();
    for (const [button, title] of [
      ["If drained", "If us-east1 were drained"],
      ["If lost", "If us-east1 were lost"],
    ] as const) {
      await page.getByRole("combobox", { name: /^Cluster/ }).selectOption("us-east1");
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("heading", { name: title }).waitFor();
      await page.getByText("4 replicas of 1 workload would move").waitFor();
      await page.getByRole("row", { name: "us-east1 4 before: 4 0 after: 0 −4" }).waitFor();
      await page.getByRole("row", { name: "us-west1 4 before: 4 8 after: 8 +4" }).waitFor();
    }
    assert.equal(await page.getByRole("button", { name: /^Drain/ }).count(), 0, "a loss happens");
    await page.getByLabel("Replicas").fill("20");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: "us-east1 4 before: 4 10 after: 10 +6" }).waitFor();
    await page.getByRole("button", { name: "Scale to 20" }).waitFor();
    const { spec } = await environment.client
      .resource(kinds.deployments)
      .get({ namespace, name: "web" });
    assert.equal(spec?.replicas, 8, "asking changes nothing");
    await checkScreenshot(page, "placement");
  });

  it("a cluster is drained after a look at what moves, seen to its end, and taken back", async () => {
    const page = await open("c/root/cluster/us-east1");
    await page.getByRole("button", { name: "Cordon", exact: true }).click();
    await page.getByRole("button", { name: "Uncordon", exact: true }).waitFor();
    await page.getByRole("button", { name: "Drain…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 replicas of 1 workload would move").waitFor();
    await dialog.getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByText(/^Drained:/).waitFor();
    const overview = await open("c/root/clusters");
    await overview.getByRole("row", { name: /us-east1.*(?:Drained|SchedulingDisabled)/ }).waitFor();
    await checkScreenshot(overview, "clusters");
    await page.getByRole("button", { name: "Uncordon", exact: true }).click();
    await page.getByRole("button", { name: "Cordon", exact: true }).waitFor();
    await overview.getByRole("row", { name: /us-east1 Ready/ }).waitFor();
  });

  it("a user without permissions sees what is missing, and buttons that say so", async () => {
    const { token } = await serviceAccountToken(environment, "reader");
    const page = await open("c/root/cluster/us-east1", token);
    await page.getByText("You may not see the cluster", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Drain…" }).count(), 0);
    const workspace = await open("c/root", token);
    const create = workspace.getByRole("button", { name: "Create workspace" });
    await until("the button says why", async () => (await create.getAttribute("title")) !== null);
    assert.equal(await create.isDisabled(), true);
  });

  it("a revoked token leads to the login, and back to the same place", async () => {
    const account = await serviceAccountToken(environment, "leaving", "cluster-admin");
    const page = await open("c/root/list/configmaps?ns=default", account.token);
    await page.getByRole("link", { name: "hostile", exact: true }).waitFor();
    const accounts = environment.client.resource(kinds.serviceAccounts);
    await accounts.delete({ namespace, name: "leaving" });
    // The next request finds out.
    await page.getByLabel("Labels").fill("a=b");
    await page.keyboard.press("Enter");
    await page.getByText("The token has expired or was revoked.").waitFor();
    await page.getByRole("textbox", { name: "Token" }).fill(environment.token);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("link", { name: "also", exact: true }).waitFor();
    assert.match(page.url(), /list\/configmaps\?ns=default&labels=a%3Db$/);
  });

  it("what was typed when a token expired is there after the login, and for the same user only", async () => {
    const accounts = environment.client.resource(kinds.serviceAccounts);
    const typist = { name: "typist", namespace };
    const metadata = { name: "typed", namespace };
    await configMaps().create({ metadata, data: { color: "red" } });
    const { token } = await serviceAccountToken(environment, "typist", "cluster-admin");
    const page = await open("c/root/object/configmaps/default/typed?tab=yaml", token);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const area = page.getByRole("textbox", { name: "YAML of typed" });
    await area.fill((await area.inputValue()).replace("color: red", "color: mine"));
    await accounts.delete(typist);
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.getByText("The token has expired or was revoked.").waitFor();
    assert.equal(await area.isVisible(), false, "the page is not shown to others");
    assert.deepEqual(await seriousFindings(page), []);
    const logIn = async (token: string) => {
      await page.getByRole("textbox", { name: "Token" }).fill(token);
      await page.keyboard.press("Enter");
    };
    await logIn("wrong");
    await page.getByText("The server does not accept this token.").waitFor();
    await accounts.create({ metadata: typist });
    await logIn(await tokenOf(environment, "typist"));
    // The review that was refused is answered now.
    await page.locator(".diff .added", { hasText: "color: mine" }).waitFor();
    await page.locator(".connection.live").waitFor();
    await accounts.delete(typist);
    await page.getByRole("button", { name: "Write" }).click();
    await page.getByText("The token has expired or was revoked.").waitFor();
    await logIn(environment.token);
    await page.getByText("kcp-admin").waitFor();
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    assert.deepEqual((await configMaps().get(metadata)).data, { color: "red" });
  });

  it("the server restarts under the page: it is said, it heals, and nothing is missed", async () => {
    const page = await open("c/root/list/configmaps?ns=default");
    await page.getByRole("link", { name: "hostile", exact: true }).waitFor();
    await environment.restart(async () => {
      await page.getByText("Connection lost, trying again…").waitFor();
      // Watches wait up to a minute between their attempts: the page asks more often.
      for (let probes = 0; probes < 2; probes++)
        await page.waitForRequest((request) => request.url().endsWith("/clusters/root/version"));
    });
    await configMaps().create({ metadata: { name: "after-restart", namespace } });
    await page.getByRole("link", { name: "after-restart", exact: true }).waitFor();
    await page.locator(".connection.live").waitFor();
  });
});

/** Texts from right to left whose element lets them change the order of what is around it. */
function bidiLeaks(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      if (!/[\u202a-\u202e\u0590-\u06ff]/.test(text.data)) continue;
      const { unicodeBidi, display } = getComputedStyle(text.parentElement);
      const isIsolated = /isolate|plaintext/.test(unicodeBidi) || display === "block";
      if (!isIsolated) found.push(text.parentElement.outerHTML.slice(0, 120));
    }
    return found;
  })()`);
}
