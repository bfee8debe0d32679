/**
 * The identity of an agent in the control plane: a ServiceAccount of its own, which may use the
 * view of its SyncTarget and renew its own token. All of its objects are owned by the SyncTarget
 * and are deleted with it; without the account, its tokens are invalid.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, DynamicObject, KubernetesObject, ObjectInput } from "@kcp-ts/sdk";
import { registrationFieldManager, type SyncTarget, syncTargets } from "../api/index.ts";
import { agentId } from "./agent-manifest.ts";
import { accountNamespace, resourceOf, serviceAccounts } from "./agent-objects.ts";

const rbac = "rbac.authorization.k8s.io";

export function accountObjects({ metadata: { name, uid = "" } }: SyncTarget): JsonObject[] {
  const id = agentId({ name, uid });
  const { group, version, resource, kind } = syncTargets;
  const ownerReferences = [{ apiVersion: `${group}/${version}`, kind, name, uid }];
  const metadata = { name: id, ownerReferences };
  const namespaced = { ...metadata, namespace: accountNamespace };
  const subjects = [{ kind: "ServiceAccount", name: id, namespace: accountNamespace }];
  const bound = (role: string) => ({ subjects, roleRef: { apiGroup: rbac, kind: role, name: id } });
  const apiVersion = `${rbac}/v1`;
  const maySync = {
    apiGroups: [group],
    resources: [resource],
    resourceNames: [name],
    verbs: ["sync"],
  };
  const mayRenew = {
    apiGroups: [""],
    resources: ["serviceaccounts/token"],
    resourceNames: [id],
    verbs: ["create"],
  };
  return [
    { apiVersion, kind: "ClusterRole", metadata, rules: [maySync] },
    { apiVersion, kind: "ClusterRoleBinding", metadata, ...bound("ClusterRole") },
    { apiVersion, kind: "Role", metadata: namespaced, rules: [mayRenew] },
    { apiVersion, kind: "RoleBinding", metadata: namespaced, ...bound("Role") },
    // The ServiceAccount is created last: when it exists, all objects exist.
    { apiVersion: "v1", kind: "ServiceAccount", metadata: namespaced },
  ];
}

/** The agent's ServiceAccount; creates the account and its RBAC objects if it does not exist. */
export async function ensureAccount(
  client: Client,
  target: SyncTarget,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const { name, uid = "" } = target.metadata;
  const at = { namespace: accountNamespace, name: agentId({ name, uid }) };
  const known = await client.resource(serviceAccounts).find(at, { signal });
  if (known !== undefined) return known;
  for (const object of accountObjects(target)) await applied(client, object, signal);
  return await client.resource(serviceAccounts).get(at, { signal });
}

/** Deletes the account, which invalidates every token of the agent. */
export async function removeAccount(
  client: Client,
  target: SyncTarget,
  signal: AbortSignal,
): Promise<void> {
  for (const object of accountObjects(target).reverse()) {
    const { name, namespace } = object["metadata"] as { name: string; namespace?: string };
    const resource = client.resource(resourceOf(object));
    const at = nameIn(name, namespace);
    try {
      await resource.sameObject(await resource.get(at, { signal })).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

export async function applied(
  client: Client,
  object: JsonObject,
  signal: AbortSignal,
): Promise<DynamicObject> {
  const options = { fieldManager: registrationFieldManager, force: true, signal };
  const input = object as unknown as ObjectInput<DynamicObject>;
  return await client.resource(resourceOf(object)).apply(input, options);
}

export function nameIn(name: string, namespace: string | undefined) {
  return namespace === undefined ? { name } : { name, namespace };
}
