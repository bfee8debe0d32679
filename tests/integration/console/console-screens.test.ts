/** Sharing, access, usage, logs, shells and audit in a real browser, on two simulated clusters. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { agentImageDefault, controlPlaneDefaults } from "@kcp-ts/controlplane";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  agentKubeconfig,
  agentManifest,
  agentViewPath,
  syncedResourcesDefault,
} from "@kcp-ts/multicluster";
import * as kinds from "@kcp-ts/sdk/kinds";
import { loadAll } from "js-yaml";
import type { Page } from "playwright-core";
import { startConsoleCommand } from "./console-command.ts";
import {
  browserMissing,
  ConsoleEnvironment,
  namespace,
  seriousFindings,
  serviceAccountToken,
  shareCowboys,
  until,
} from "./console-environment.ts";
import { layoutBreaks } from "./layout-breaks.ts";
import { checkScreenshot } from "./screenshots.ts";

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete]
`;

describe("the console", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  let folder: string;
  const pages: Page[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "kcp-console-audit-"));
    const policyFile = join(folder, "policy.yaml");
    await writeFile(policyFile, policy);
    const logPath = join(folder, "audit.log");
    environment = await ConsoleEnvironment.open([], {
      audit: { ...controlPlaneDefaults.audit, policyFile, logPath, isLogBlocking: false },
    });
    await environment.placeWorkload();
    await shareCowboys(environment);
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
  const consumer = () => environment.client.inCluster("root:consumer");
  const claimState = async () => {
    const { spec } = await consumer().resource(kinds.apiBindings).get({ name: "cowboys" });
    return spec.permissionClaims?.map(({ state, selector }) => ({ state, selector }));
  };

  it("a claim is accepted after a look at what it reveals, for some objects, and rejected", async () => {
    const maps = consumer().resource(kinds.configMaps);
    for (const [name, app] of [
      ["saloon", "bar"],
      ["stable", "horses"],
    ] as const)
      await maps.create({ metadata: { name, namespace, labels: { app } } });
    const page = await open("c/root:consumer/sharing");
    const accept = page.getByRole("button", { name: "Accept configmaps.core" });
    await until("the user may decide", () => accept.isEnabled());
    assert.deepEqual(await seriousFindings(page), []);
    await accept.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${namespace}/saloon`).waitFor();
    await dialog.getByText(`${namespace}/stable`).waitFor();
    await dialog.getByText("kubectl kcp claims accept cowboys --resource").waitFor();
    await dialog.getByLabel(/^Only objects with these labels/).fill("app=bar");
    await dialog.getByText("It reveals 1 configmaps now").waitFor();
    await dialog.getByText("kubectl edit apibinding cowboys").waitFor();
    assert.equal(await dialog.getByText(`${namespace}/stable`).count(), 0);
    assert.deepEqual(await seriousFindings(page), []);
    await checkScreenshot(page, "claim");
    await dialog.getByRole("button", { name: "Accept", exact: true }).click();
    await page.getByText("Accepted: app=bar").waitFor();
    assert.deepEqual(await claimState(), [
      { state: "Accepted", selector: { matchLabels: { app: "bar" } } },
    ]);
    await page.getByRole("button", { name: "Reject configmaps.core" }).click();
    await page.getByText("Rejected", { exact: true }).waitFor();
    assert.equal((await claimState())?.[0]?.state, "Rejected");
  });

  it("an export names its consumers, and what it claims of them", async () => {
    const page = await open("c/root:provider/sharing");
    await page.getByText("It claims of its consumers: configmaps (*).").waitFor();
    await page.getByRole("button", { name: "Who consumes cowboys" }).click();
    const { metadata } = await consumer().resource(kinds.apiBindings).get({ name: "cowboys" });
    const cluster = metadata.annotations?.["kcp.io/cluster"] ?? "";
    await page.getByRole("row", { name: new RegExp(`^${cluster} cowboys`) }).waitFor();
  });

  it("access is a matrix by kind and by subject, with roles of the server", async () => {
    const roles = consumer().resource(kinds.clusterRoles);
    const bindings = consumer().resource(kinds.clusterRoleBindings);
    await roles.create({
      metadata: { name: "maps" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }],
    });
    for (const [name, role] of [
      ["ann", "maps"],
      ["vic", "cluster-admin"],
      ["eve", "view"],
    ] as const)
      await bindings.create({
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
      });
    const page = await open("c/root:consumer/access?kind=configmaps");
    const yes = async (row: string) => {
      const cells = await page.getByRole("row", { name: row }).getByRole("cell").allInnerTexts();
      return cells.slice(0, 4).join(" ");
    };
    await page.getByRole("row", { name: "User ann" }).waitFor();
    assert.equal(await yes("User ann"), "yes yes – –");
    assert.equal(await yes("User vic"), "yes yes yes yes");
    assert.deepEqual(await seriousFindings(page), []);
    await checkScreenshot(page, "access");
    await page.getByLabel("Subject").selectOption("User ann");
    await page.getByRole("row", { name: /^configmaps/ }).waitFor();
    assert.match(page.url(), /subject=User\+ann/);
    assert.equal(await yes("configmaps"), "yes yes – –");
  });

  it("a user who may not read roles sees what the user may do", async () => {
    const { token } = await serviceAccountToken(environment, "walker");
    const page = await open("c/root/access", token);
    await page.getByText("What others may do here, you may not read.").waitFor();
    await page.getByRole("row", { name: /selfsubjectaccessreviews/ }).waitFor();
  });

  it("usage counts objects, and asks the server who is busy for those who may", async () => {
    const page = await open("c/root:consumer/usage");
    await page.getByRole("button", { name: "Count", exact: true }).click();
    await page.getByText(/^\d+ objects\.$/).waitFor();
    const row = page.getByRole("row", { name: /^configmaps \d/ });
    const { items } = await consumer().resource(kinds.configMaps).list();
    assert.match(await row.innerText(), new RegExp(`^configmaps\\s+${items.length}\\s`));
    await page.getByRole("button", { name: "Look", exact: true }).click();
    await page.getByRole("columnheader", { name: "Throttled (429)" }).waitFor();
    await page.getByRole("row", { name: /^root/ }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    const { token } = await serviceAccountToken(environment, "curious");
    const other = await open("c/root/usage", token);
    await other.getByRole("button", { name: "Look", exact: true }).click();
    await other.getByText("the verb get on the path /metrics").waitFor();
  });

  it("logs of a workload are followed over its clusters at once", async () => {
    const page = await open("c/root/logs/deployments.apps/default/web");
    await page.getByText("Following 8 of 8 containers of 8 Pods in 2 clusters.").waitFor();
    const terminal = page.getByRole("group", { name: "Logs" });
    for (const cluster of ["us-east1", "us-west1"])
      await terminal
        .getByText(new RegExp(`^${cluster}/web--${cluster}-`))
        .nth(3)
        .waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await checkScreenshot(page, "logs");
    await page.getByLabel("Pod name contains").fill("us-east1");
    await page.keyboard.press("Enter");
    await page.getByText("Following 4 of 4 containers").waitFor();
    assert.match(page.url(), /name=us-east1/);
  });

  it("hostile logs are text: no markup, and no control of the terminal", async () => {
    const said = `<img src=x onerror=alert(1)>\u001b[2J\u001b]0;owned\u0007 \u202eevil ${"x".repeat(600)}`;
    await environment.client
      .resource(kinds.deployments)
      .patch(
        { namespace, name: "web" },
        {
          type: "merge",
          patch: { spec: { template: { metadata: { annotations: { "sim.kcp.io/log": said } } } } },
        },
      );
    const page = await open("c/root/logs/deployments.apps/default/web");
    const terminal = page.getByRole("group", { name: "Logs" });
    await terminal.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    assert.equal(await terminal.locator("img").count(), 0);
    assert.doesNotMatch(await page.title(), /owned/);
    assert.ok((await terminal.locator(".lines > div").count()) < 100, "only lines that are seen");
  });

  it("a shell runs in a container of a Pod, by keys alone", async () => {
    const pod = await runningPod(environment);
    const page = await open(`c/root/object/pods/default/${pod}`);
    await page.getByRole("link", { name: "Shell" }).focus();
    await page.keyboard.press("Enter");
    const run = page.getByRole("button", { name: "Run" });
    await until("the user may run commands", () => run.isEnabled());
    await page.getByLabel("Command").fill("cat");
    await page.keyboard.press("Enter");
    await page.getByText("Running. Shift-Tab leaves the terminal.").waitFor();
    const terminal = page.getByRole("group", { name: `cat in ${pod}` });
    await page.keyboard.type("echo é <b>bold</b>");
    await terminal.getByText("echo é <b>bold</b>").waitFor();
    assert.equal(await terminal.locator("b").count(), 0);
    assert.deepEqual(await seriousFindings(page), []);
    await page.keyboard.press("Control+d");
    await page.getByText("The command ended.").waitFor();
    await page.getByRole("button", { name: "Run again" }).focus();
  });

  it("kcp console has shells and logs, with the credentials of the kubeconfig", async () => {
    const pod = await runningPod(environment);
    const { url, stop } = await startConsoleCommand(environment.plane.kubeconfigPath, "root");
    try {
      const page = await open("", "");
      await page.goto(url);
      await page.getByText("kcp-admin").waitFor();
      const { origin } = new URL(page.url());
      await page.goto(`${origin}/console/c/root/shell/default/${pod}`);
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("Running. Shift-Tab leaves the terminal.").waitFor();
      await page.keyboard.type("through the proxy");
      await page.getByText("through the proxy").waitFor();
      await page.goto(`${origin}/console/c/root/logs/deployments.apps/default/web`);
      await page.getByText(/^Following 3 of \d+ containers/).waitFor();
      await page.locator(".connection.live").waitFor();
    } finally {
      await stop();
    }
  });

  it("a shell that the user may not have is not offered", async () => {
    const pod = await runningPod(environment);
    await environment.client
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "pod-reader" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }],
      });
    const { token } = await serviceAccountToken(environment, "looker", "pod-reader");
    const page = await open(`c/root/shell/default/${pod}`, token);
    await page.getByText("You may not create pods/exec here.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Run" }).isDisabled(), true);
  });

  it("YAML is written with help from the schema, by keys alone", async () => {
    const page = await open("c/root/create/deployments.apps");
    const area = page.getByRole("textbox", { name: "YAML of the new Deployment" });
    await area.fill(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helped}\nspec:\n  rep",
    );
    await area.focus();
    await page.keyboard.press("Control+End");
    const option = page.getByRole("option", { name: /^replicas/ });
    await until("the schema is loaded", async () => {
      await page.keyboard.press("Control+Space");
      return option.isVisible();
    });
    await page.getByText(/^replicas:/).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await page.keyboard.press("Enter");
    assert.match(await area.inputValue(), /^ {2}replicas: $/m);
    await page.keyboard.type("3");
    await page.getByText(/^spec\.replicas \(integer\)/).waitFor();
    await area.hover({ position: { x: 60, y: 10 } });
    await page.getByText(/^apiVersion \(string\)/).waitFor();
  });

  it("objects are selected in a list and labelled together", async () => {
    const maps = environment.client.resource(kinds.configMaps);
    for (const name of ["bulk-a", "bulk-b"]) await maps.create({ metadata: { name, namespace } });
    const page = await open("c/root/list/configmaps?ns=default&name=bulk-");
    for (const name of ["bulk-a", "bulk-b"]) await page.getByLabel(`Select ${name}`).check();
    await page.getByRole("button", { name: "Label 2…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^Labels/).fill("tier=web");
    assert.deepEqual(await seriousFindings(page), []);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    const { items } = await maps.list({ namespace, labelSelector: "tier=web" });
    assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ["bulk-a", "bulk-b"]);
  });

  it("what an object owns is a tree, and a workload says where it is", async () => {
    const maps = environment.client.resource(kinds.configMaps);
    const owner = async (name: string, above?: { name: string; uid: string }) => {
      const ownerReferences =
        above === undefined ? [] : [{ apiVersion: "v1", kind: "ConfigMap", ...above }];
      const { metadata } = await maps.create({ metadata: { name, namespace, ownerReferences } });
      return { name, uid: metadata.uid ?? "" };
    };
    await owner("leaf", await owner("branch", await owner("trunk")));
    const page = await open("c/root/object/configmaps/default/trunk");
    await page.getByRole("button", { name: "Find what it owns" }).click();
    await page
      .locator(".owned > li", { has: page.getByRole("link", { name: "ConfigMap branch" }) })
      .locator(".owned")
      .getByRole("link", { name: "ConfigMap leaf" })
      .waitFor();
    const workload = await open("c/root/object/deployments.apps/default/web");
    await workload.getByRole("link", { name: "us-east1" }).first().waitFor();
    await workload.getByRole("link", { name: "Why, and what if" }).click();
    await workload.getByRole("heading", { level: 1, name: /^Placement of/ }).waitFor();
  });

  it("a cluster shows its APIs as they were negotiated, and the lease of its syncer", async () => {
    const page = await open("c/root/cluster/us-east1");
    const apis = page.getByRole("region", { name: "APIs and their negotiation" });
    await apis.getByRole("row", { name: /^deployments\.apps v1 .*Compatible.* yes/ }).waitFor();
    await page.getByText("in time", { exact: true }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
  });

  it("a cluster is registered for an agent, with the manifest that the command makes", async () => {
    const page = await open("c/root/clusters?do=create");
    const dialog = page.getByRole("dialog", { name: "Register cluster" });
    await dialog.getByLabel("Name", { exact: true }).fill("pulled");
    await dialog.getByText("kubectl kcp workload sync pulled -o pulled.yaml").waitFor();
    await dialog.getByRole("button", { name: "Register for an agent" }).click();
    const shown = page.getByRole("group", { name: "Manifest of the agent of pulled" });
    const objects = loadAll(await shown.innerText()) as JsonObject[];
    assert.deepEqual(await seriousFindings(page), []);
    const { client, plane } = environment;
    const { metadata } = await client.resource(kinds.syncTargets).get({ name: "pulled" });
    const target = { name: "pulled", uid: metadata.uid ?? "", cluster: "root" };
    const { data } = objects.find(({ kind }) => kind === "Secret") as never as {
      data: { kubeconfig: string; token: string };
    };
    const ca = await client.resource(kinds.configMaps).get({ namespace, name: "kube-root-ca.crt" });
    const token = Buffer.from(data.token, "base64").toString("utf8");
    const server = { url: plane.url, caPem: ca.data?.["ca.crt"] };
    assert.deepEqual(
      objects,
      agentManifest({
        target,
        resources: syncedResourcesDefault,
        image: agentImageDefault,
        kubeconfig: agentKubeconfig(server, target),
        token,
      }),
    );
    // The token is the agent's: it may use the view of its SyncTarget, and nothing else.
    const status = async (path: string) =>
      page.evaluate<number>(
        `fetch(${JSON.stringify(path)}, { headers: { authorization: ${JSON.stringify(`Bearer ${token}`)} } }).then((response) => response.status)`,
      );
    assert.equal(
      await status(
        `${agentViewPath(target)}/clusters/root/apis/workload.kcp.io/v1alpha1/synctargets/pulled`,
      ),
      200,
    );
    assert.equal(await status("/clusters/root/api/v1/secrets"), 403);
  });

  it("an API that blocks names the field and the cluster", async () => {
    const imports = environment.client.resource(kinds.apiResourceImports);
    const { items } = await imports.list();
    const made = items.find(
      ({ spec }) => spec.plural === "controllerrevisions" && spec.location === "us-west1",
    );
    assert.ok(made !== undefined, "the API is imported");
    const { openAPIV3Schema: schema } = made.spec;
    const properties = schema["properties"] as object;
    const changed = { ...schema, properties: { ...properties, revision: { type: "string" } } };
    const name = "by-hand";
    await environment.client
      .resource(kinds.syncTargets)
      .create({ metadata: { name }, spec: { mode: "None" } });
    const spec = { ...made.spec, location: name, openAPIV3Schema: changed };
    await imports.create({ metadata: { name: `controllerrevisions.${name}` }, spec } as never);
    const page = await open(`c/root/cluster/${name}`);
    await page
      .getByRole("row", { name: /controllerrevisions.*IncompatibleSchema.*revision/ })
      .waitFor();
  });

  it("a question about replicas and weights has a button that does it", async () => {
    await environment.client
      .resource(kinds.placements)
      .create({ metadata: { name: "everywhere" }, spec: { namespaceSelector: {} } });
    const page = await open("c/root/placement/default/deployment-web");
    await page.getByLabel("Weights").fill("us-east1=3, us-west1=1");
    await page.getByRole("button", { name: "If weighted" }).click();
    await page.getByRole("row", { name: /^us-east1 4 .* 6 .*\+2$/ }).waitFor();
    await page.getByRole("button", { name: "Write these weights" }).click();
    await page.getByText("Done: the page shows the move.").waitFor();
    await page.getByRole("row", { name: /us-east1 .*6 \/ 6/ }).waitFor();
    await page.getByLabel("Replicas").fill("4");
    await page.getByRole("button", { name: "If scaled" }).click();
    await page.getByRole("button", { name: "Scale to 4" }).click();
    await page.getByRole("row", { name: /us-east1 .*3 \/ 3/ }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
  });

  it("an action is a place: the box opens the dialog of a drain", async () => {
    const page = await open("c/root/clusters");
    await page.getByRole("row", { name: /us-east1/ }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Workspace, kind/ }).waitFor();
    await page.keyboard.type("drain us-w");
    await page.getByRole("option", { name: "drain us-west1 action" }).waitFor();
    await page.keyboard.press("Enter");
    await page
      .getByRole("dialog", { name: "Drain us-west1" })
      .getByText(/would move/)
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.doesNotMatch(page.url(), /do=/);
  });

  it("a workspace with 10,000 children is opened by one request, and its rows are those that are seen", async (test) => {
    const { client } = environment;
    await client.resource(kinds.workspaces).create({ metadata: { name: "crowd" } });
    const crowd = client.inCluster("root:crowd").resource(kinds.workspaces);
    const names = Array.from({ length: 10_000 }, (_, at) => `c-${String(at).padStart(5, "0")}`);
    // A mount has no logical cluster of its own: the object is all that there is of it.
    const spec = { mount: { ref: { apiVersion: "v1", kind: "ConfigMap", name: "none" } } };
    const add = (name: string) => crowd.create({ metadata: { name }, spec });
    await until("the workspace takes children", async () => {
      await add(names[0] as string);
      return true;
    });
    for (let at = 1; at < names.length; at += 200)
      await Promise.all(names.slice(at, at + 200).map(add));
    const page = await open("c/root");
    /** Of each request for children, how many it asks for. */
    const asked: (string | null)[] = [];
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const isList = pathname.endsWith("/root:crowd/apis/tenancy.kcp.io/v1alpha1/workspaces");
      if (isList && !searchParams.has("watch")) asked.push(searchParams.get("limit"));
    });
    const openedAt = performance.now();
    await page.getByRole("button", { name: "Children of root:crowd" }).click();
    const tree = page.getByRole("tree", { name: "Workspaces" });
    await tree.getByRole("link", { name: "c-00000", exact: true }).waitFor();
    const openMs = Math.round(performance.now() - openedAt);
    assert.deepEqual(asked, ["200"]);
    assert.ok((await page.getByRole("treeitem").count()) < 100, "rows that are seen");
    // The list of them has an end that leads to all.
    await tree.getByRole("treeitem", { name: "crowd", exact: true }).focus();
    await page.keyboard.press("End");
    await tree.getByRole("treeitem", { name: "c-00199", exact: true }).waitFor();
    await tree.getByRole("link", { name: "c-01000", exact: true }).waitFor();
    assert.deepEqual(asked.splice(0), ["200", "1000"], "a further page when its place is seen");
    await page.goto(`${environment.plane.url}/console/c/root:crowd/list/workspaces.tenancy.kcp.io`);
    await page.getByText(/^500 loaded of about 10000$/).waitFor();
    assert.deepEqual(asked.splice(0).sort(), ["200", "500"], "of the tree and of the list");
    const listMs = Math.round(performance.now() - openedAt) - openMs;
    const scroller = page.getByRole("region", { name: /workspaces.*: rows/ });
    await scroller.focus();
    const scrolledAt = performance.now();
    await page.keyboard.press("End");
    await page.getByText(/^1000 loaded of about 10000$/).waitFor();
    await page.keyboard.press("End");
    await page.getByText(/^1500 loaded of about 10000$/).waitFor();
    const scrollMs = Math.round(performance.now() - scrolledAt);
    assert.deepEqual(asked, ["500", "500"], "a page each time that the end is seen");
    assert.ok((await page.locator("table.data tbody tr").count()) < 120, "rows that are seen");
    test.diagnostic(
      `opened after ${openMs} ms, its list after ${listMs} ms, two pages further after ${scrollMs} ms`,
    );
  });

  it("every screen is accessible, and none overflows, overlaps or cuts its texts, wide and narrow, light and dark", async () => {
    const pod = await runningPod(environment);
    const paths = [
      "root",
      "root/list/pods",
      "root/create/configmaps",
      `root/object/pods/default/${pod}`,
      `root/object/pods/default/${pod}?tab=yaml`,
      "root/placements",
      "root/placement/default/deployment-web",
      "root/clusters",
      "root/clusters?do=create",
      "root/cluster/us-east1",
      "root/sharing",
      "root:consumer/sharing",
      "root/access",
      "root/access?kind=configmaps",
      "root/usage",
      "root/audit",
      "root/logs/deployments.apps/default/web",
      `root/shell/default/${pod}`,
    ];
    const login = await open("c/root", "");
    await login.getByRole("textbox", { name: "Token" }).waitFor();
    await assertLaidOut(login, "login");
    const page = await open("c/root");
    for (const path of paths) {
      await page.goto(`${environment.plane.url}/console/c/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const loading = page.getByText(/^Loading/);
      await until("all is loaded", async () => (await loading.count()) === 0);
      await assertLaidOut(page, path);
    }
    await page.goto(`${environment.plane.url}/console/c/root`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    for (const [style, found] of [
      ['marginTop = "-2rem"', /lies on/],
      ['width = "3000px"', /^wide/],
      ['maxHeight = "8px"', /^cut/],
    ] as const) {
      const line = 'document.querySelector("main .kubectl").style';
      await page.evaluate(`${line}.overflow = "hidden"; ${line}.${style}`);
      assert.match((await layoutBreaks(page)).join("\n"), new RegExp(found, "m"));
      await page.evaluate(`${line}.cssText = ""`);
    }
  });

  it("audit events appear as they happen, and those who may not read them learn why", async () => {
    const page = await open("c/root/audit");
    await page.getByText(/^Following\./).waitFor();
    const maps = environment.client.resource(kinds.configMaps);
    await until("an event is seen", async () => {
      await maps.create({ metadata: { generateName: "audited-", namespace } });
      return (await page.getByRole("row", { name: /create .*configmaps/ }).count()) > 0;
    });
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByLabel("Contains").fill("no event has this text");
    await page.getByText(/^Following\. 0 of/).waitFor();
    const { token } = await serviceAccountToken(environment, "nosy");
    const refused = await open("c/root/audit", token);
    await refused.getByText("You may not see this").waitFor();
    await refused.getByText("kubectl create clusterrole audit-reader").waitFor();
  });
});

/** In wide and narrow windows, light and dark. */
async function assertLaidOut(page: Page, screen: string): Promise<void> {
  for (const width of [1280, 700, 400])
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const where = `${screen} at ${width} pixels, ${colorScheme}`;
      assert.deepEqual(await layoutBreaks(page), [], where);
      if (width === 1280) assert.deepEqual(await seriousFindings(page), [], where);
    }
}

async function runningPod({ client }: ConsoleEnvironment): Promise<string> {
  let name = "";
  await until("a Pod runs", async () => {
    const { items } = await client.resource(kinds.pods).list({ namespace });
    const running = items.find(
      ({ metadata, status }) =>
        status?.phase === "Running" && metadata.deletionTimestamp === undefined,
    );
    name = running?.metadata.name ?? "";
    return name !== "";
  });
  return name;
}
