/**
 * The key that seals kubeconfigs in SyncTargets. It is a Secret of the system logical cluster: all
 * servers of one store share it, and no other client can read it. It is created when it is first
 * needed.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type SealContext, seal, sealingKeyBytes, unseal } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { type Secret, secrets, systemNamespace } from "./system-secrets.ts";

export const sealingKeySecret = { ...systemNamespace, name: "kcp-kubeconfig-sealing-key" } as const;

export class SealingKey {
  readonly #client: () => Client;
  #key: Promise<Uint8Array> | undefined;

  /** `client` may do everything in the system logical cluster. */
  constructor(client: () => Client) {
    this.#client = client;
  }

  async seal(text: string, place: SealContext): Promise<string> {
    return seal(text, place, await this.#load());
  }

  async unseal(sealed: string, place: SealContext): Promise<string | undefined> {
    return unseal(sealed, place, await this.#load());
  }

  /** A key for another purpose, from which this one cannot be derived. */
  async derived(purpose: string): Promise<Uint8Array> {
    const key = await this.#load();
    return new Uint8Array(hkdfSync("sha256", key, "", purpose, sealingKeyBytes));
  }

  #load(): Promise<Uint8Array> {
    this.#key ??= this.#findOrMake().catch((error: unknown) => {
      // The next caller retries.
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  async #findOrMake(): Promise<Uint8Array> {
    const { cluster, namespace, name } = sealingKeySecret;
    const resource = this.#client().inCluster(cluster).resource(secrets);
    const known = await resource.find({ namespace, name });
    if (known !== undefined) return keyOf(known);
    const key = randomBytes(sealingKeyBytes).toString("base64");
    try {
      return keyOf(await resource.create({ metadata: { namespace, name }, data: { key } }));
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
      return keyOf(await resource.get({ namespace, name }));
    }
  }
}

function keyOf({ data }: Secret): Uint8Array {
  const key = Buffer.from(data?.["key"] ?? "", "base64");
  if (key.length === sealingKeyBytes) return key;
  const { namespace, name } = sealingKeySecret;
  throw new Error(`the Secret ${namespace}/${name} of the system holds no key`);
}
