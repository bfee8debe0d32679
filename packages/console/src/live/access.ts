/** What the user may do: the server's own word, by SelfSubjectAccessReviews. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client } from "@kcp-ts/sdk/client";
import { useLoaded } from "./loaded.ts";

export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

const reviews = new WeakMap<Client, Map<string, Promise<boolean>>>();

/** Undefined while it is not known. A review that fails forbids nothing: the server decides. */
export function useAccess(client: Client, access: Access): boolean | undefined {
  const key = JSON.stringify(access);
  const { result } = useLoaded(() => reviewed(client, access, key), `${client.basePath} ${key}`);
  return result;
}

function reviewed(client: Client, access: Access, key: string): Promise<boolean> {
  const known = reviews.get(client) ?? new Map<string, Promise<boolean>>();
  reviews.set(client, known);
  const review = known.get(key) ?? reviewAccess(client, access).catch(() => true);
  known.set(key, review);
  return review;
}

async function reviewAccess(client: Client, access: Access): Promise<boolean> {
  const apiVersion = "authorization.k8s.io/v1";
  const named = Object.entries(access).filter(([, value]) => value !== undefined);
  const resourceAttributes = Object.fromEntries(named) as JsonObject;
  const review = (await client.json({
    method: "POST",
    path: `/apis/${apiVersion}/selfsubjectaccessreviews`,
    body: { apiVersion, kind: "SelfSubjectAccessReview", spec: { resourceAttributes } },
  })) as { status?: { allowed?: boolean } };
  return review.status?.allowed === true;
}
