/**
 * A control plane with two simulated clusters, and a browser that looks at its console. Violations
 * of the page's policies, errors of its scripts and words on its console are collected.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  controlPlaneDefaults,
  createLog,
  type Middleware,
  startControlPlane,
} from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type Client, connect, loadKubeconfig } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const program = process.env["CHROMIUM"] ?? programs.find((path) => existsSync(path));
/** False, or why there is no browser. */
export const browserMissing =
  program === undefined ? "needs a browser: Debian's package chromium, or CHROMIUM" : false;

export const namespace = "default";

export class ConsoleEnvironment {
  readonly folder: string;
  readonly problems: string[] = [];
  plane: ControlPlane;
  token = "";
  readonly #clusters: SimulatedCluster[] = [];
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #middleware: readonly Middleware[];

  static async open(
    middleware: readonly Middleware[] = [],
    options: Partial<ControlPlaneOptions> = {},
  ): Promise<ConsoleEnvironment> {
    const folder = await mkdtemp(join(tmpdir(), "kcp-console-"));
    const plane = await startPlane(folder, 0, middleware, options);
    const browser = await chromium.launch({
      executablePath: program as string,
      args: ["--no-sandbox", "--disable-gpu"],
    });
    const viewport = { width: 1280, height: 800 };
    // Without transitions: colours are checked as they are once a button is enabled.
    const reducedMotion = "reduce";
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport, reducedMotion });
    const made = new ConsoleEnvironment(folder, plane, middleware, browser, context);
    made.token = await made.#readToken();
    return made;
  }

  private constructor(
    folder: string,
    plane: ControlPlane,
    middleware: readonly Middleware[],
    browser: Browser,
    context: BrowserContext,
  ) {
    this.folder = folder;
    this.plane = plane;
    this.#middleware = middleware;
    this.#browser = browser;
    this.#context = context;
  }

  get client(): Client {
    return this.plane.client;
  }

  /** A simulated cluster that nobody has registered: its kubeconfig. */
  async startCluster(name: string, startDelayMs = startDelayMsDefault): Promise<string> {
    const kubelet = { startDelayMs, stopDelayMs: 50 };
    const cluster = await startListeningCluster({ name, nodes: 3, kubelet, log });
    this.#clusters.push(cluster);
    return cluster.kubeconfig ?? "";
  }

  /** Registers two clusters, and places a Deployment in both. */
  async placeWorkload(startDelayMs = startDelayMsDefault): Promise<void> {
    for (const name of ["us-east1", "us-west1"]) {
      const spec = { kubeconfig: await this.startCluster(name, startDelayMs) };
      await this.client.resource(kinds.syncTargets).create({ metadata: { name }, spec });
    }
    const labels = { app: "web" };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "web", image: "web:1" }] },
    };
    const spec = { replicas: 8, selector: { matchLabels: labels }, template };
    const metadata = { name: "web", namespace };
    await until("deployments are served", async () => {
      await this.client.resource(kinds.deployments).create({ metadata, spec } as never);
      return true;
    });
    await until("the Deployment is in both clusters", async () => {
      const found = await this.client
        .resource(kinds.workloadPlacements)
        .get({ namespace, name: "deployment-web" });
      const ready = found.status?.clusters?.filter((one) => one.ready === 4) ?? [];
      return ready.length === 2;
    });
  }

  /** A page at an address below /console/, with a user who has logged in. */
  async page(path: string, token = this.token): Promise<Page> {
    const page = await this.#context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => this.problems.push(`error: ${error.message}`));
    page.on("console", (message) => {
      // The browser itself reports lost connections and refused requests there.
      const isNetwork = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isNetwork) this.problems.push(message.text());
    });
    const remember = `sessionStorage.setItem("kcp-console-token", ${JSON.stringify(token)})`;
    if (token !== "") await page.addInitScript({ content: remember });
    await page.goto(`${this.plane.url}/console/${path}`);
    return page;
  }

  /** The same store and port, a new process in all but name. */
  async restart(whileDown: () => Promise<void> = async () => {}): Promise<void> {
    const port = Number(new URL(this.plane.url).port);
    await this.plane.stop();
    await whileDown();
    this.plane = await startPlane(this.folder, port, this.#middleware);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.plane.stop();
    await Promise.all(this.#clusters.map((cluster) => cluster.close()));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #readToken(): Promise<string> {
    const kubeconfig = await loadKubeconfig({ path: this.plane.kubeconfigPath });
    const { user = "" } = kubeconfig.contexts.get("root") ?? {};
    // The kubeconfig works before the page is asked to believe the same token.
    const connection = connect(kubeconfig, { context: "root" });
    await connection.client.json({ method: "GET", path: "/version" });
    await connection.close();
    return kubeconfig.users.get(user)?.token ?? "";
  }
}

const startDelayMsDefault = { min: 50, max: 200 };
const log = createLog({ format: "pretty", verbosity: 0, write: () => undefined });

function startPlane(
  rootDirectory: string,
  securePort: number,
  middleware: readonly Middleware[],
  options: Partial<ControlPlaneOptions> = {},
): Promise<ControlPlane> {
  const link = { probeMs: 500, probeTimeoutMs: 2000, failuresMax: 2, inventoryMs: 30_000 };
  return startControlPlane(
    {
      ...controlPlaneDefaults,
      ...options,
      rootDirectory,
      securePort,
      bindAddress: "127.0.0.1",
      shutdownTimeoutMs: 2000,
      physicalClusters: {
        link,
        importPollMs: 1000,
        gracePeriods: { unreachableAfterMs: 6000, recoveryMs: 500 },
      },
    },
    { log, middleware },
  );
}

const untilMsMax = 120_000;

/** Errors count as not yet. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = systemClock.monotonic() + untilMsMax;
  let last: unknown;
  for (;;) {
    try {
      if (await isSo()) return;
    } catch (error) {
      last = error;
    }
    if (systemClock.monotonic() > giveUpAtMs)
      throw new Error(`not in time: ${what}`, { cause: last });
    await sleep(systemClock, 100);
  }
}

const axeSource = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe calls serious or critical, one line each. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(axeSource, "utf8"));
  return page.evaluate(async () => {
    const { axe } = globalThis as never as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .map((one) => one.html)
            .join(" | ")
            .slice(0, 300)}`,
      );
  });
}

/** A service account of root, perhaps with a role, and its token. */
export async function serviceAccountToken(
  { client }: Pick<ConsoleEnvironment, "client">,
  name: string,
  role?: string,
): Promise<{ readonly token: string }> {
  const accounts = client.resource(kinds.serviceAccounts);
  await accounts.create({ metadata: { name, namespace } });
  if (role !== undefined)
    await client
      .resource(kinds.clusterRoleBindings)
      .create({
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ kind: "ServiceAccount", name, namespace }],
      });
  return { token: await tokenOf({ client }, name) };
}

/** A new token of a service account of root. */
export async function tokenOf({ client }: Pick<ConsoleEnvironment, "client">, name: string) {
  const { status } = (await client
    .resource(kinds.serviceAccounts)
    .subresource("token")
    .create({ name, namespace }, { spec: { expirationSeconds: 600 } } as never)) as never as {
    status: { token: string };
  };
  return status.token;
}

/** A provider, its export of Cowboys that claims ConfigMaps, and a consumer that is bound. */
export async function shareCowboys({ client }: Pick<ConsoleEnvironment, "client">): Promise<void> {
  for (const name of ["provider", "consumer"])
    await client.resource(kinds.workspaces).create({ metadata: { name } });
  const provider = client.inCluster("root:provider");
  const names = { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" };
  const schema = { type: "object" };
  await until("the schema is created", async () => {
    await provider
      .resource(kinds.apiResourceSchemas)
      .create({
        metadata: { name: "v1.cowboys.wildwest.dev" },
        spec: {
          group: "wildwest.dev",
          names,
          scope: "Namespaced",
          versions: [{ name: "v1", served: true, storage: true, schema }],
        },
      } as never);
    return true;
  });
  await provider
    .resource(kinds.apiExports)
    .create({
      metadata: { name: "cowboys" },
      spec: {
        resources: [{ group: "wildwest.dev", name: "cowboys", schema: "v1.cowboys.wildwest.dev" }],
        permissionClaims: [{ resource: "configmaps", verbs: ["*"] }],
      },
    } as never);
  const consumer = client.inCluster("root:consumer");
  await until("the consumer is bound", async () => {
    const known = await consumer.resource(kinds.apiBindings).find({ name: "cowboys" });
    const reference = { export: { path: "root:provider", name: "cowboys" } };
    if (known === undefined)
      await consumer
        .resource(kinds.apiBindings)
        .create({ metadata: { name: "cowboys" }, spec: { reference } });
    return known?.status?.phase === "Bound";
  });
}
