/** Validating and mutating webhook configurations. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from "@kcp-ts/machinery/shape";
import type { Draft } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  startGeneration,
} from "../standard.ts";
import { fillWebhooks, webhookErrors } from "./webhook-rules.ts";

const shared = {
  ...baseStrategy,
  ...namespacedNames,
  validate: webhookErrors,
  validateUpdate: webhookErrors,
  columns: [nameColumn, column("Webhooks", "integer", "How many there are."), ageColumn],
  cells: (object: JsonObject, nowMs: number) => [
    nameCell(object),
    listIn(object["webhooks"]).length,
    ageCell(object, nowMs),
  ],
} as const;

export const validatingWebhookConfigurations = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "validatingwebhookconfigurations",
  singular: "validatingwebhookconfiguration",
  kind: "ValidatingWebhookConfiguration",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  strategy: { ...shared, ...filling({}), shape: validatingWebhookConfiguration },
});

export const mutatingWebhookConfigurations = builtIn({
  group: "admissionregistration.k8s.io",
  resource: "mutatingwebhookconfigurations",
  singular: "mutatingwebhookconfiguration",
  kind: "MutatingWebhookConfiguration",
  isNamespaced: false,
  categories: ["api-extensions"],
  waitsForOwnWrite: true,
  strategy: {
    ...shared,
    ...filling({ reinvocationPolicy: "Never" }),
    shape: mutatingWebhookConfiguration,
  },
});

function filling(defaults: JsonObject) {
  return {
    prepareForCreate(draft: Draft) {
      fillWebhooks(draft, defaults);
      startGeneration(draft);
    },
    prepareForUpdate: (draft: Draft) => fillWebhooks(draft, defaults),
  };
}
