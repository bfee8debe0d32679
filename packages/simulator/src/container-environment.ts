/**
 * The environment of a container, and the files of its ConfigMaps and Secrets, computed on request
 * as a kubelet would create them.
 */
import {
  type Client,
  defineResource,
  type KubernetesObject,
  type Resource,
  type StringMap,
} from "@kcp-ts/sdk";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import type { Pod } from "./api/index.ts";
import type { ContainerEnvironment } from "./containers/index.ts";

interface ConfigSource extends KubernetesObject {
  readonly data?: StringMap;
}

interface Source {
  readonly name?: string;
  readonly secretName?: string;
  readonly key?: string;
  readonly optional?: boolean;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: Source;
    readonly configMapKeyRef?: Source;
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

interface Volume {
  readonly name: string;
  readonly secret?: Source;
  readonly configMap?: Source;
  readonly projected?: {
    readonly sources?: readonly { readonly secret?: Source; readonly configMap?: Source }[];
  };
}

interface Mounted {
  readonly name: string;
  readonly env?: readonly Variable[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

const holders: Readonly<Record<"secret" | "configMap", Resource<ConfigSource>>> = {
  secret: defineResource<ConfigSource>(secrets),
  configMap: defineResource<ConfigSource>(configMaps),
};

export async function containerEnvironment(
  client: Client,
  pod: Pod,
  name: string,
): Promise<ContainerEnvironment> {
  const containers = pod.spec.containers as unknown as readonly Mounted[];
  const container = containers.find((one) => one.name === name);
  const { namespace = "" } = pod.metadata;
  const read = async (kind: "secret" | "configMap", source: Source | undefined) => {
    const at = source?.name ?? source?.secretName;
    if (at === undefined) return new Map<string, string>();
    const found = await client.resource(holders[kind]).find({ namespace, name: at });
    const decode = (text: string) =>
      kind === "secret" ? Buffer.from(text, "base64").toString("utf8") : text;
    const texts = Object.entries((found?.data ?? {}) as Record<string, string>);
    return new Map(texts.map(([key, text]) => [key, decode(text)]));
  };
  const env = new Map<string, string>();
  for (const { name: variable, value = "", valueFrom } of container?.env ?? []) {
    const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom ?? {};
    const from = await read(
      secretKeyRef === undefined ? "configMap" : "secret",
      secretKeyRef ?? configMapKeyRef,
    );
    const found = from.get(secretKeyRef?.key ?? configMapKeyRef?.key ?? "");
    env.set(variable, found ?? fieldOf(pod, fieldRef?.fieldPath) ?? value);
  }
  const files = new Map<string, string>();
  const volumes = (pod.spec.volumes ?? []) as unknown as readonly Volume[];
  for (const { name: volumeName, mountPath } of container?.volumeMounts ?? []) {
    const volume = volumes.find((one) => one.name === volumeName);
    for (const source of [volume, ...(volume?.projected?.sources ?? [])]) {
      for (const kind of ["secret", "configMap"] as const) {
        const from = await read(kind, source?.[kind]);
        const items = source?.[kind]?.items ?? [...from.keys()].map((key) => ({ key, path: key }));
        for (const { key, path } of items) {
          const text = from.get(key);
          if (text !== undefined) files.set(`${mountPath.replace(/\/+$/, "")}/${path}`, text);
        }
      }
    }
  }
  return { env, files };
}

function fieldOf({ metadata }: Pod, path: string | undefined): string | undefined {
  if (path === "metadata.name") return metadata.name;
  return path === "metadata.namespace" ? metadata.namespace : undefined;
}
