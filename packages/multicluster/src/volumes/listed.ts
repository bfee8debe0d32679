import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, Resource } from "@kcp-ts/sdk";
import type { StoredObject } from "./objects.ts";

/** Lists the objects of a kind; a kind that is not served has none. */
export async function listed(
  client: Client,
  resource: Resource<StoredObject>,
  options: { readonly namespace?: string; readonly signal: AbortSignal },
): Promise<readonly StoredObject[]> {
  try {
    return (await client.resource(resource).list(options)).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return [];
    throw error;
  }
}
