/**
 * For tests of programs in Pods: environment and files as a kubelet creates them from a Pod and its
 * Secrets, and clients that are built from these as unmodified programs do it.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  type Connection,
  connect,
  defineResource,
  inClusterKubeconfig,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: { readonly phase?: string };
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
}

interface Container {
  readonly name: string;
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: {
      readonly secretKeyRef?: { readonly name: string; readonly key: string };
      readonly fieldRef?: { readonly fieldPath: string };
    };
  }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Volume {
  readonly name: string;
  readonly projected?: {
    readonly sources: readonly {
      readonly secret?: {
        readonly name: string;
        readonly optional?: boolean;
        readonly items: readonly { readonly key: string; readonly path: string }[];
      };
    }[];
  };
}

interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const pods = defineResource<Pod>(kinds.pods);
export const secrets = defineResource<Secret>(kinds.secrets);

/** A test, or another owner of clean-up functions. */
export interface CleanupScope {
  after(clean: () => Promise<unknown>): void;
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

export class PodClient {
  readonly #cluster: Client;
  readonly #pod: Pod;
  readonly #root: string;

  private constructor(cluster: Client, pod: Pod, root: string) {
    this.#cluster = cluster;
    this.#pod = pod;
    this.#root = root;
  }

  /**
   * `cluster` is the physical one. Throws, where a kubelet waits, until all Secrets that the Pod
   * needs exist.
   */
  static async start(t: CleanupScope, cluster: Client, pod: Pod): Promise<PodClient> {
    const root = await mkdtemp(join(tmpdir(), "inside-pod-"));
    t.after(() => rm(root, { recursive: true, force: true }));
    const inside = new PodClient(cluster, pod, root);
    await inside.refreshFiles();
    return inside;
  }

  /** As an unmodified client does it: by environment and files alone. */
  async connect(t: CleanupScope): Promise<Connection> {
    const folder = join(this.#root, accountFolder);
    const kubeconfig = await inClusterKubeconfig({ env: await this.env(), folder });
    assert.ok(kubeconfig !== undefined, "it does not look like a Pod");
    const connection = connect(kubeconfig, { env: {} });
    t.after(() => connection.close());
    return connection;
  }

  /** In the folder where clients look for credentials. */
  file(name: string): Promise<string> {
    return readFile(join(this.#root, accountFolder, name), "utf8");
  }

  /** The environment of the first container. */
  async env(): Promise<Readonly<Record<string, string>>> {
    const env: Record<string, string> = {};
    for (const { name, value, valueFrom } of this.#container.env ?? []) {
      const { secretKeyRef: from, fieldRef } = valueFrom ?? {};
      if (from !== undefined) env[name] = (await this.#secret(from.name, [from.key]))[0] ?? "";
      else if (fieldRef?.fieldPath === "metadata.namespace")
        env[name] = this.#pod.metadata.namespace ?? "";
      else env[name] = value ?? "";
    }
    return env;
  }

  /** A kubelet does it from time to time. */
  async refreshFiles(): Promise<void> {
    for (const { name, mountPath } of this.#container.volumeMounts ?? []) {
      const volume = this.#pod.spec.volumes?.find((one) => one.name === name);
      await mkdir(join(this.#root, mountPath), { recursive: true });
      for (const { secret } of volume?.projected?.sources ?? []) {
        if (secret === undefined) continue;
        const texts = await this.#secret(
          secret.name,
          secret.items.map(({ key }) => key),
        );
        for (const [index, { path }] of secret.items.entries())
          await writeFile(join(this.#root, mountPath, path), texts[index] ?? "");
      }
    }
  }

  async #secret(name: string, keys: readonly string[]): Promise<readonly string[]> {
    const { namespace = "" } = this.#pod.metadata;
    const { data = {} } = await this.#cluster.resource(secrets).get({ namespace, name });
    return keys.map((key) => {
      assert.ok(data[key] !== undefined, `the Secret ${name} has no ${key}`);
      return Buffer.from(data[key], "base64").toString("utf8");
    });
  }

  get #container(): Container {
    const [first] = this.#pod.spec.containers;
    assert.ok(first !== undefined);
    return first;
  }
}
