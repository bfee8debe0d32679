/**
 * The two contexts that the plugin keeps in a kubeconfig: the current workspace and the previous
 * one. Pure: it returns a changed document.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { KubeconfigDocument } from "@kcp-ts/sdk";

export const currentName = "workspace.kcp.io/current";
export const previousName = "workspace.kcp.io/previous";

export class ContextError extends Error {
  override readonly name = "ContextError";
}

/** The cluster, user and namespace of a context. */
export interface ContextTarget {
  readonly context: JsonObject;
  readonly cluster: JsonObject;
}

export function contextTargetOf(
  document: KubeconfigDocument,
  name: string,
): ContextTarget | undefined {
  const context = entry(document, "contexts", name, "context");
  const clusterName = context?.["cluster"];
  const cluster =
    typeof clusterName === "string"
      ? entry(document, "clusters", clusterName, "cluster")
      : undefined;
  return context === undefined || cluster === undefined ? undefined : { context, cluster };
}

export function currentContextOf(document: KubeconfigDocument): string {
  const name = document["current-context"];
  if (typeof name !== "string" || name === "")
    throw new ContextError("current context is not set in kubeconfig");
  return name;
}

export function currentContextTarget(document: KubeconfigDocument, name?: string): ContextTarget {
  const context = name ?? currentContextOf(document);
  const pointed = contextTargetOf(document, context);
  if (pointed === undefined)
    throw new ContextError(`current context "${context}" is not found in kubeconfig`);
  return pointed;
}

/** Switches to a server; the previous context can be returned to. */
export function setContextServer(
  document: KubeconfigDocument,
  from: ContextTarget,
  server: string,
): KubeconfigDocument {
  const kept = put(document, previousName, from);
  const next = put(kept, currentName, { ...from, cluster: { ...from.cluster, server } });
  return { ...next, "current-context": currentName };
}

/** Switches to the previous context; switching again returns. */
export function restorePreviousContext(document: KubeconfigDocument): {
  document: KubeconfigDocument;
  server: string;
} {
  const previous = contextTargetOf(document, previousName);
  if (previous === undefined) throw new ContextError("no previous workspace found in kubeconfig");
  const kept = put(document, previousName, currentContextTarget(document));
  const next = put(kept, currentName, previous);
  const server = String(previous.cluster["server"] ?? "");
  return { document: { ...next, "current-context": currentName }, server };
}

/** A context of its own that keeps pointing to a server. */
export function addContext(
  document: KubeconfigDocument,
  name: string,
  from: ContextTarget,
  { overwrite }: { readonly overwrite: boolean },
): KubeconfigDocument {
  if (entry(document, "contexts", name, "context") !== undefined && !overwrite) {
    throw new ContextError(
      `context "${name}" already exists in kubeconfig, use --overwrite to update it`,
    );
  }
  return { ...put(document, name, from), "current-context": name };
}

/** Flags that override the kubeconfig for one run. */
export interface ConnectionFlags {
  readonly server?: string | undefined;
  readonly user?: string;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly certificateAuthority?: string;
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
}

/** The name of a context that is never written to a file. */
export const flagContextName = "workspace.kcp.io/flags";

/** The document with one more context: the given one, with the overrides of flags. */
export function withConnectionFlags(
  document: KubeconfigDocument,
  from: ContextTarget,
  flags: ConnectionFlags,
): KubeconfigDocument {
  const { server, certificateAuthority, tlsServerName, insecureSkipTlsVerify } = flags;
  const {
    "certificate-authority-data": data,
    "certificate-authority": file,
    ...bare
  } = from.cluster;
  const isTrustGiven = certificateAuthority !== undefined || insecureSkipTlsVerify === true;
  const trust = {
    ...(data === undefined ? {} : { "certificate-authority-data": data }),
    ...(file === undefined ? {} : { "certificate-authority": file }),
  };
  const cluster: JsonObject = {
    ...bare,
    ...(isTrustGiven ? {} : trust),
    ...(server === undefined ? {} : { server }),
    ...(certificateAuthority === undefined
      ? {}
      : { "certificate-authority": certificateAuthority }),
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(insecureSkipTlsVerify === true ? { "insecure-skip-tls-verify": true } : {}),
  };
  const userName = flags.user ?? String(from.context["user"] ?? "");
  const { token, username, password } = flags;
  const credentials = {
    ...(token === undefined ? {} : { token }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
  // A credential flag replaces all credentials of the kubeconfig.
  const user =
    Object.keys(credentials).length > 0
      ? credentials
      : (entry(document, "users", userName, "user") ?? {});
  const users = replaced(document["users"], { name: flagContextName, user });
  const context = { ...from.context, user: flagContextName };
  return put({ ...document, users }, flagContextName, { context, cluster });
}

function put(
  document: KubeconfigDocument,
  name: string,
  pointed: ContextTarget,
): KubeconfigDocument {
  const context = { ...pointed.context, cluster: name };
  const clusters = replaced(document["clusters"], { name, cluster: pointed.cluster });
  const contexts = replaced(document["contexts"], { name, context });
  return { ...document, clusters, contexts };
}

function replaced(list: JsonValue | undefined, item: JsonObject): JsonValue {
  const items = Array.isArray(list) ? (list as JsonValue[]) : [];
  return [...items.filter((one) => !isJsonObject(one) || one["name"] !== item["name"]), item];
}

function entry(
  document: KubeconfigDocument,
  list: string,
  name: string,
  member: string,
): JsonObject | undefined {
  const items = document[list];
  if (!Array.isArray(items)) return undefined;
  const found = (items as JsonValue[]).find((one) => isJsonObject(one) && one["name"] === name);
  const value = isJsonObject(found) ? found[member] : undefined;
  return isJsonObject(value) ? value : undefined;
}
