/** The namespace `default` of an API server without workspaces, which exists from the start. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { namespaces } from "../api/index.ts";

export async function ensureDefaultNamespace(client: Client): Promise<void> {
  try {
    await client.resource(namespaces).create({ metadata: { name: "default" } });
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
}
