import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { validateCustomResourceDefinition } from "./index.ts";
import { crd, read } from "./test-support/crontab-definition.ts";

const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

describe("the conversion of a definition", () => {
  const cases: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    [
      "has no conversion settings without a webhook",
      crd({
        conversion: {
          strategy: "None",
          webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] },
        },
      }),
      [
        "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
      ],
    ],
    [
      "knows two conversion strategies",
      crd({ conversion: { strategy: "Magic" } }),
      ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
    ],
    [
      "needs a webhook to convert by one",
      crd({ conversion: { strategy: "Webhook" } }),
      [
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        "spec.conversion.conversionReviewVersions: Required value",
      ],
    ],
    [
      "needs one address of the webhook",
      crd({
        conversion: {
          strategy: "Webhook",
          webhook: { clientConfig: {}, conversionReviewVersions: ["v2", "v2", "V"] },
        },
      }),
      [
        "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
        'spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
        `spec.conversion.conversionReviewVersions[2]: Invalid value: "V": ${label1035}`,
        'spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2","V"]: must include at least one of v1, v1beta1',
      ],
    ],
    [
      "has a plain https address",
      crd({
        conversion: {
          strategy: "Webhook",
          webhook: {
            clientConfig: { url: "http://u:p@h/p?q#f" },
            conversionReviewVersions: ["v1"],
          },
        },
      }),
      [
        "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        'spec.conversion.webhookClientConfig.url: Invalid value: "u:xxxxx": user information is not permitted in the URL',
        'spec.conversion.webhookClientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
        'spec.conversion.webhookClientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
      ],
    ],
    [
      "has a service of the right form",
      crd({
        conversion: {
          strategy: "Webhook",
          webhook: {
            clientConfig: { service: { name: "n", namespace: "", port: 70000, path: "/a//B" } },
            conversionReviewVersions: ["v1"],
          },
        },
      }),
      [
        "spec.conversion.webhookClientConfig.service.name: Required value",
        "spec.conversion.webhookClientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
        'spec.conversion.webhookClientConfig.service.path: Invalid value: "/a//B": segment[1] may not be empty',
        `spec.conversion.webhookClientConfig.service.path: Invalid value: "/a//B": segment[2]: ${subdomain}`,
      ],
    ],
  ];
  for (const [title, json, expected] of cases) {
    it(title, () => {
      assert.deepEqual(
        validateCustomResourceDefinition(read(json)).map(formatFieldError),
        expected,
      );
    });
  }
});
