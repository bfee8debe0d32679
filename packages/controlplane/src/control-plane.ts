/**
 * The composition root: options become a store, a server, a listener and a kubeconfig. Only wiring.
 */
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import {
  type ApiServer,
  cacheBytesOf,
  claimPrimary,
  consoleOfServer,
  encryptStorage,
  ensureStoreFormat,
  Listener,
  listenerLimitsOf,
  type ServerLog,
  supersededServer,
  tracerOf,
  trafficOf,
} from "@kcp-ts/apiserver";
import { ensureDefaultNamespace } from "@kcp-ts/controllers";
import { type Clock, sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { serverNames } from "@kcp-ts/multicluster";
import {
  type AdminTokens,
  aloneContexts,
  ensureServingCertificates,
  loadOrCreateAdminTokens,
  newToken,
  renewServingCertificates,
  writeAdminKubeconfig,
} from "@kcp-ts/pki";
import {
  earlyMarking,
  garbageCollector,
  startIdleCollection,
  throttledGarbageCollector,
} from "@kcp-ts/process-memory";
import type { Client } from "@kcp-ts/sdk";
import { gatesWithoutSwitch, parseFeatureGates } from "@kcp-ts/tenancy/feature-gates";
import { type Battery, batteriesOf } from "./batteries.ts";
import { composeAudit } from "./compose/audit.ts";
import { ControlPlaneCore, type CoreOptions, processUser } from "./compose/core.ts";
import type { Extensions } from "./compose/extensions.ts";
import { loadMounts } from "./compose/mounts.ts";
import { startProcessMetrics } from "./compose/process-metrics.ts";
import { composeShards } from "./compose/shards.ts";
import { listen, makeRootDirectory, readFlagFile } from "./compose/start-up.ts";
import { Started } from "./compose/started.ts";
import { type OpenedStorage, openStorage } from "./compose/storage.ts";
import { loadTls } from "./compose/tls.ts";

import { type ControlPlaneOptions, OptionsError } from "./options.ts";

export interface ControlPlane {
  /** The URL for clients, without a path. */
  readonly url: string;
  /** The path of the admin kubeconfig, unless the battery `admin` is excluded. */
  readonly kubeconfigPath: string;
  readonly server: ApiServer;
  /** Resolves with the address of a standby that has taken over: this server has to stop. */
  readonly superseded: Promise<string>;
  /** An in-process client, without sockets; an administrator of the logical cluster root. */
  readonly client: Client;
  /**
   * readyz fails, watches end, writes in flight finish, then all components are closed. Idempotent.
   */
  stop(): Promise<void>;
}

export interface ControlPlaneContext extends Extensions {
  readonly log: ServerLog;
  readonly clock?: Clock;
}

export async function startControlPlane(
  options: ControlPlaneOptions,
  { log, clock = systemClock, ...extensions }: ControlPlaneContext,
): Promise<ControlPlane> {
  const rootDirectory = resolve(options.rootDirectory);
  const batteries = batteriesOf(options.batteriesIncluded);
  checkNames(options, log);
  await makeRootDirectory(rootDirectory);
  await claimPrimary(rootDirectory, options);
  const started = new Started();
  try {
    const { entryBytesMax } = cacheBytesOf(options.traffic);
    const context = { rootDirectory, clock, log, entryBytesMax };
    const plain = await openStorage(options.storage, context);
    started.endsBy(() => plain.close());
    const storage = await encrypted(plain, options, { log, clock, ...extensions });
    started.endsBy(() => storage.close());
    if (options.storage.kind !== "memory") await ensureStoreFormat(storage, { clock });
    const composed = { log, clock, extensions, batteries };
    return await compose({ ...options, rootDirectory }, storage, composed, started);
  } catch (error) {
    // Started components keep the process alive: it would neither serve nor end.
    await started.close("failure").catch((failure: unknown) => {
      log.error({ err: failure }, "what was started could not be closed");
    });
    throw error;
  }
}

async function encrypted(
  storage: OpenedStorage,
  { encryptionProviderConfig: path }: ControlPlaneOptions,
  context: Pick<ControlPlaneContext, "log" | "keyServices"> & { readonly clock: Clock },
): Promise<OpenedStorage> {
  const config = await readFlagFile("--encryption-provider-config", path);
  if (config === undefined) return storage;
  return encryptStorage(storage, { config, ...context });
}

interface ComposeContext {
  readonly log: ServerLog;
  readonly clock: Clock;
  readonly extensions: Extensions;
  readonly batteries: ReadonlySet<Battery>;
}

/** Validates options that are names, before anything is opened. */
function checkNames({ featureGates = [] }: ControlPlaneOptions, log: ServerLog): void {
  for (const gate of gatesWithoutSwitch(parseFeatureGates(featureGates)))
    log.info({ gate }, "this feature gate switches nothing here");
}

async function compose(
  options: ControlPlaneOptions,
  storage: OpenedStorage,
  context: ComposeContext,
  started: Started,
): Promise<ControlPlane> {
  const { log, clock } = context;
  const { rootDirectory: directory } = options;
  const { kubeconfigPath = join(directory, "admin.kubeconfig") } = options;
  const tokenStorePath = join(directory, ".admin-token-store");
  const tls = await loadTls(options);
  const identity = { directory, hostnames: hostnamesOf(options), clock };
  const certificates = await ensureServingCertificates(identity);
  const tokens = await tokensOf(context.batteries, { kubeconfigPath, tokenStorePath });
  const collectGarbage = garbageCollector();
  const metricSources = startProcessMetrics(options, started);
  const shards = await composeShards(options, { clock, serverCaPem: certificates.caPem });
  const { superseded, onSuperseded } = supersededServer(directory, log);
  const settings = { tokens, collectGarbage, metricSources, onSuperseded, shards };
  const core = await composeCore(options, storage, context, settings);
  const { server } = core;
  started.endsBy(() => core.close());
  await core.start();
  const listener = new Listener({
    host: options.bindAddress,
    port: options.securePort,
    tls: tls.own ?? certificates,
    namedTls: tls.named,
    tlsMinVersion: tls.minVersion,
    handle: core.listenerHandle,
    limits: listenerLimitsOf(options.traffic),
    onDebug: (message, error) => log.debug({ err: error }, message),
  });
  const address = await listen(listener, options);
  started.endsBy((ending) =>
    ending === "failure"
      ? listener.drain(AbortSignal.abort())
      : shutDown(server, listener, options, clock),
  );
  await tls.follow(listener, core.files);
  const keeper = renewServingCertificates({
    ...identity,
    current: certificates,
    onChange: (renewed) => {
      log.info({}, "the serving certificate was renewed");
      if (tls.own === undefined) listener.reload(renewed);
    },
    onError: (error) => log.error({ err: error }, "the serving certificate could not be renewed"),
  });
  started.endsBy(() => keeper.stop());
  const url = `https://${hostForUrl(options)}:${address.port}`;
  const externalUrl = options.shardExternalUrl?.replace(/\/+$/, "") ?? url;
  core.servedAt(url);
  await server.bootstrap(externalUrl);
  const client = core.clientFor("root", processUser);
  if (options.isAlone === true) await ensureDefaultNamespace(client);
  const contexts = options.isAlone ? aloneContexts : undefined;
  const kubeconfig = { path: kubeconfigPath, tokenStorePath, serverUrl: url, contexts };
  if (tokens !== undefined)
    await writeAdminKubeconfig({ ...kubeconfig, caPem: certificates.caPem, ...tokens });
  started.endsBy(() => core.stopControllers());
  startControlLoops(core, options, { caPem: certificates.caPem, externalUrl });
  core.startControllers();
  core.startPeers(options.peerUrl, tls.own ? undefined : certificates.caPem);
  const idle = { clock, log, collectGarbage, releaseMemory: () => server.releaseMemory() };
  const collector = startIdleCollection(idle);
  started.endsBy(() => collector.stop());
  return { url, kubeconfigPath, server, superseded, client, stop: () => started.close("stop") };
}

async function tokensOf(
  batteries: ReadonlySet<Battery>,
  paths: { readonly kubeconfigPath: string; readonly tokenStorePath: string },
): Promise<AdminTokens | undefined> {
  if (!batteries.has("admin")) return undefined;
  const tokens = await loadOrCreateAdminTokens(paths);
  return batteries.has("user") ? { ...tokens, userToken: newToken() } : tokens;
}

function startControlLoops(
  core: ControlPlaneCore,
  options: ControlPlaneOptions,
  { caPem, externalUrl }: { readonly caPem: string; readonly externalUrl: string },
): void {
  const { controllers: controlLoops, physicalClusters, eventTtlMs } = options;
  if (!controlLoops && physicalClusters === undefined) return;
  const shared = { caPem, isShared: options.storage.kind === "etcd", eventTtlMs, controlLoops };
  core.startControlLoops({ ...shared, physicalClusters, agentUrl: () => externalUrl });
}

async function composeCore(
  options: ControlPlaneOptions,
  storage: OpenedStorage,
  context: ComposeContext,
  settings: Required<
    Pick<CoreOptions, "tokens" | "collectGarbage" | "metricSources" | "onSuperseded" | "shards">
  >,
): Promise<ControlPlaneCore> {
  const { clock, batteries, log } = context;
  const traces = await readFlagFile("--tracing-config-file", options.tracingConfigFile);
  return ControlPlaneCore.compose({
    tracer: traces === undefined ? undefined : tracerOf(traces, context),
    ...options,
    ...context,
    site: consoleOfServer(options),
    storage,
    isStoreShared: options.storage.kind === "etcd",
    ...settings,
    root: {
      workspaceTypes: batteries.has("workspace-types"),
      metricsViewer: batteries.has("metrics-viewer"),
      homeCreatorGroups: options.homeCreatorGroups,
    },
    random: systemRandom,
    audit: await composeAudit(options.audit, { clock, random: systemRandom, log }),
    limits: trafficOf(options.traffic),
    collectGarbage: throttledGarbageCollector(clock, settings.collectGarbage),
    markEarly: earlyMarking(),
    mounts: await loadMounts(options),
  });
}

async function shutDown(
  server: ApiServer,
  listener: Listener,
  { shutdownDelayMs, shutdownTimeoutMs }: ControlPlaneOptions,
  clock: Clock,
): Promise<void> {
  server.beginDraining();
  if (shutdownDelayMs > 0) await sleep(clock, shutdownDelayMs);
  const giveUp = new AbortController();
  const timer = clock.schedule(shutdownTimeoutMs, () => giveUp.abort());
  // The listener stops accepting first, so that no new connection is opened.
  const drained = listener.drain(giveUp.signal);
  await Promise.race([server.drain(), once(giveUp.signal, "abort")]);
  await drained;
  timer.cancel();
}

const anyAddress = new Set(["0.0.0.0", "::", ""]);

function hostForUrl({ externalHostname, bindAddress }: ControlPlaneOptions): string {
  const host = externalHostname ?? (anyAddress.has(bindAddress) ? "localhost" : bindAddress);
  return host.includes(":") ? `[${host}]` : host;
}

/** Every name and address of this machine. */
function hostnamesOf({ externalHostname, bindAddress, peerUrl }: ControlPlaneOptions): string[] {
  const names = new Set(["localhost", "127.0.0.1", "::1", ...serverNames]);
  if (peerUrl !== undefined) names.add(peerHost(peerUrl));
  if (externalHostname !== undefined) names.add(externalHostname);
  if (!anyAddress.has(bindAddress)) names.add(bindAddress);
  else {
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address, internal } of addresses ?? []) {
        if (!internal && !address.startsWith("fe80:")) names.add(address);
      }
    }
  }
  return [...names];
}

function peerHost(url: string): string {
  if (URL.canParse(url)) {
    const { protocol, hostname, pathname, search, username } = new URL(url);
    const isPlain = pathname === "/" && search === "" && username === "";
    if (protocol === "https:" && isPlain) return hostname.replace(/^\[|\]$/g, "");
  }
  throw new OptionsError(
    `--peer-url ${url} is not of the form https://host:port: say where other servers reach this one`,
  );
}
