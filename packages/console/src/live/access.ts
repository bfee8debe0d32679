/** What the user may do: the server's own answer, by SelfSubjectAccessReviews. */
import { systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client, Resource } from "@kcp-ts/sdk/client";
import { useEffect, useState } from "preact/hooks";
import { useLoaded } from "./loaded.ts";

export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export function accessTo(
  { group, resource }: Pick<Resource, "group" | "resource">,
  verb: string,
  target: Pick<Access, "namespace" | "name"> = {},
): Access {
  const { namespace, name } = target;
  return { verb, group, resource, namespace, name };
}

export interface Permission {
  readonly isAllowed: boolean;
  /** Why it is not allowed; undefined while the answer is awaited. */
  readonly refusal: string | undefined;
}

interface Review {
  readonly isAllowed: Promise<boolean>;
  readonly askedAtMs: number;
}

/** Pages that are shown later ask again: rights change. */
const reviewMsMax = 30_000;
const retryMs = 2000;

/** By client: clients end with the login of their user, and what they were told with them. */
const reviews = new WeakMap<Client, Map<string, Review>>();

/** A review that fails allows nothing, and is asked for again until there is an answer. */
export function useAccess(client: Client, access: Access): Permission {
  const key = JSON.stringify(access);
  const [failures, setFailures] = useState(0);
  const place = `${client.basePath} ${key} ${failures}`;
  const { result, error } = useLoaded(() => reviewed(client, access, key), place, client);
  useEffect(() => {
    if (error === undefined) return;
    const retry = systemClock.schedule(retryMs, () => setFailures(failures + 1));
    return () => retry.cancel();
  }, [error]);
  const { verb, resource, subresource } = access;
  const what = `${verb} ${[resource, subresource].filter(Boolean).join("/")} here`;
  if (result !== undefined)
    return { isAllowed: result, refusal: result ? undefined : `You may not ${what}.` };
  const refusal =
    failures === 0 && error === undefined
      ? undefined
      : `The server does not say whether you may ${what}.`;
  return { isAllowed: false, refusal };
}

function reviewed(client: Client, access: Access, key: string): Promise<boolean> {
  const known = reviews.get(client) ?? new Map<string, Review>();
  reviews.set(client, known);
  const nowMs = systemClock.monotonic();
  const last = known.get(key);
  if (last !== undefined && nowMs - last.askedAtMs < reviewMsMax) return last.isAllowed;
  const review = { isAllowed: reviewAccess(client, access), askedAtMs: nowMs };
  known.set(key, review);
  review.isAllowed.catch(() => {
    if (known.get(key) === review) known.delete(key);
  });
  return review.isAllowed;
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
