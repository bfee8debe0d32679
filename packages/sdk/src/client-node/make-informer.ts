/**
 * `makeInformer` as `@kubernetes/client-node` has it, for programs that move: the same call, the
 * same events. It resumes by itself, without a gap and without the program's help.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  Client,
  consoleLog,
  explainError,
  type KubernetesObject,
  type Resource,
} from "../client/index.ts";
import { Informer } from "../informer/index.ts";
import { type Connection, connect, parseKubeconfig } from "../kubeconfig/index.ts";

/** A KubeConfig of client-node, as far as it matters here. */
export interface ExportsConfig {
  /** The kubeconfig as JSON. */
  exportConfig(): string;
}

export type InformerVerb = "add" | "update" | "delete" | "change" | "connect" | "error";

export interface ClientNodeInformer<Type> {
  on(verb: "add" | "update" | "delete" | "change", callback: (object: Type) => void): void;
  on(verb: "connect" | "error", callback: (error?: unknown) => void): void;
  off(verb: InformerVerb, callback: (given: never) => void): void;
  /**
   * Resolves when the state of the server is known, and every object has been added. A second call
   * changes nothing: errors are reported, and need no new start.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  get(name: string, namespace?: string): Type | undefined;
  list(namespace?: string): readonly Type[];
}

/**
 * Takes a KubeConfig of client-node or a client; a path such as
 * `/apis/apps/v1/namespaces/default/deployments`; and the list function, which is not called: the
 * path says the same.
 */
export function makeInformer<Type>(
  config: ExportsConfig | Client,
  path: string,
  _list?: () => Promise<{ readonly items: readonly Type[] }>,
  labelSelector?: string,
  fieldSelector?: string,
): ClientNodeInformer<Type> {
  return new PathInformer<Type>(config, path, labelSelector, fieldSelector);
}

/** What it is given follows from its verb. */
type Callback = (given: never) => void;

class PathInformer<Type> implements ClientNodeInformer<Type> {
  readonly #connection: Pick<Connection, "client" | "close">;
  readonly #make: () => Informer<KubernetesObject>;
  readonly #callbacks = new Map<InformerVerb, Set<Callback>>();
  #informer: Informer<KubernetesObject> | undefined;
  #running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(
    config: ExportsConfig | Client,
    path: string,
    labelSelector: string | undefined,
    fieldSelector: string | undefined,
  ) {
    const { resource, namespace } = parsePath(path);
    this.#connection = connectionOf(config);
    const { client } = this.#connection;
    this.#make = () =>
      new Informer({
        client,
        resource,
        scope: { cluster },
        selector: { namespace, labelSelector, fieldSelector },
        onError: (error) => this.#fail(error),
      });
  }

  on(verb: InformerVerb, callback: Callback): void {
    const callbacks = this.#callbacks.get(verb) ?? new Set();
    this.#callbacks.set(verb, callbacks.add(callback));
  }

  off(verb: InformerVerb, callback: Callback): void {
    this.#callbacks.get(verb)?.delete(callback);
  }

  async start(): Promise<void> {
    this.#running ??= this.#run();
    await this.#informer?.synced(this.#running.stop.signal);
  }

  #run() {
    const informer = this.#make();
    this.#informer = informer;
    informer.addHandler({
      added: (object) => this.#tell(["add", "change"], object),
      updated: (object) => this.#tell(["update", "change"], object),
      deleted: (object) => this.#tell(["delete", "change"], object),
    });
    const stop = new AbortController();
    const ended = informer.run(stop.signal);
    void informer.synced(stop.signal).then(
      () => this.#tell(["connect"], undefined),
      () => {},
    );
    return { stop, ended };
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.stop.abort(new Error("the informer was stopped"));
    await running?.ended;
    await this.#connection.close();
  }

  get(name: string, namespace = ""): Type | undefined {
    // The caller says of which type the path's objects are.
    return this.#informer?.store.get({ cluster, namespace, name }) as Type | undefined;
  }

  list(namespace?: string): readonly Type[] {
    const filter = namespace === undefined ? { cluster } : { cluster, namespace };
    return (this.#informer?.store.list(filter) ?? []) as readonly unknown[] as readonly Type[];
  }

  #tell(verbs: readonly InformerVerb[], given: unknown): void {
    for (const verb of verbs)
      for (const callback of this.#callbacks.get(verb) ?? []) callback(given as never);
  }

  #fail(error: unknown): void {
    if ((this.#callbacks.get("error")?.size ?? 0) > 0) this.#tell(["error"], error);
    else consoleLog.warn(`informer: ${explainError(error)}; it is tried again`);
  }
}

/** Of the keys in its store only: requests go where the client does. */
const cluster: ClusterName = rootCluster;

function connectionOf(config: ExportsConfig | Client): Pick<Connection, "client" | "close"> {
  if (config instanceof Client) return { client: config, close: async () => {} };
  return connect(parseKubeconfig(config.exportConfig(), { trust: { resolvePath: (one) => one } }));
}

const pathPattern =
  /^\/?(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)\/?$/;

function parsePath(path: string): {
  readonly resource: Resource;
  readonly namespace: string | undefined;
} {
  const groups = pathPattern.exec(path)?.groups;
  if (groups === undefined)
    throw new Error(`${path} is not a path such as /apis/apps/v1/namespaces/default/deployments`);
  const { group = "", version = "", namespace, plural = "" } = groups;
  // The kind is needed to write only.
  const resource = { group, version, resource: plural, kind: "", namespaced: true };
  return { resource, namespace };
}
