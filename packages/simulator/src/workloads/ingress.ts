/**
 * Ingresses: assigns an address, as a cluster's ingress controller does. No server listens there.
 *
 *     sim.kcp.io/address: 192.0.2.1     this address; "false" for none
 */
import { type Client, Controller, type ObjectKey } from "@kcp-ts/sdk";
import { type Ingress, ingresses, isTerminating, writeStatus } from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { hashText } from "./revisions.ts";

const addressAnnotation = "sim.kcp.io/address";

export function ingressController(context: WorkloadContext): Controller {
  const found = context.clusters.source<Ingress>(ingresses);
  return new Controller({
    name: "ingress",
    ...context,
    reconcile: (key, { client }) => giveAddress(found.store.get(key), key, client),
  }).watch(ingresses);
}

async function giveAddress(
  ingress: Ingress | undefined,
  { name }: ObjectKey,
  client: Client,
): Promise<undefined> {
  if (ingress === undefined || isTerminating(ingress)) return;
  if ((ingress.status?.loadBalancer?.ingress ?? []).length > 0) return;
  const asked = ingress.metadata.annotations?.[addressAnnotation];
  if (asked === "false") return;
  const ip = asked ?? addressOf(ingress.metadata.uid ?? name);
  await writeStatus(client, ingresses, ingress, { loadBalancer: { ingress: [{ ip }] } });
}

/** An address that is derived from the uid: no allocation table is needed. */
function addressOf(uid: string): string {
  let number = 0;
  for (const digit of hashText(uid)) number = (number * 31 + digit.charCodeAt(0)) & 0xffff;
  return `198.18.${number >> 8}.${number & 255 || 1}`;
}
