import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { Conversion } from "./conversion.ts";
import type { SharedDefinition } from "./shared-definition.ts";

export class WebhookConversion implements Conversion {
  constructor(_options: { readonly clock: Clock }) {}

  async convert(
    _definition: SharedDefinition,
    _objects: readonly JsonObject[],
    _apiVersion: string,
  ): Promise<readonly JsonObject[]> {
    throw statusError.internal("conversion by webhook");
  }
}
