import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { violationsOf, violationText } from "./violations.ts";

const plain = { name: "c", image: "nginx" };
const told = (spec: JsonObject, level: "baseline" | "restricted" = "baseline") =>
  violationsOf({ containers: [plain], ...spec }, level).map(
    ({ reason, detail }) => `${reason} (${detail})`,
  );
const with_ = (securityContext: JsonObject, list = "containers") => ({
  [list]: [{ ...plain, securityContext }],
});

describe("Pod Security Standard baseline", () => {
  it("permits an ordinary Pod, and a Pod that drops capabilities or adds default ones", () => {
    assert.deepEqual(told({}), []);
    const capabilities = { drop: ["ALL"], add: ["NET_BIND_SERVICE"] };
    assert.deepEqual(told(with_({ capabilities, privileged: false })), []);
    const volumes = [
      { name: "a", emptyDir: {} },
      { name: "b", secret: { secretName: "x" } },
    ];
    assert.deepEqual(told({ volumes, hostNetwork: false }), []);
    const sysctls = [{ name: "net.ipv4.tcp_syncookies", value: "1" }];
    assert.deepEqual(told({ securityContext: { sysctls } }), []);
  });

  it("rejects each container escape in Kubernetes' own words", () => {
    const table: readonly (readonly [JsonObject, string])[] = [
      [{ hostNetwork: true, hostPID: true }, "host namespaces (hostNetwork=true, hostPID=true)"],
      [{ hostIPC: true }, "host namespaces (hostIPC=true)"],
      [{ volumes: [{ name: "h", hostPath: { path: "/" } }] }, 'hostPath volumes (volume "h")'],
      [
        with_({ privileged: true }),
        'privileged (container "c" must not set securityContext.privileged=true)',
      ],
      [
        { containers: [{ ...plain, ports: [{ containerPort: 80, hostPort: 80 }] }] },
        'hostPort (container "c" uses hostPort 80)',
      ],
      [
        with_({ capabilities: { add: ["SYS_ADMIN", "KILL"] } }),
        'non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
      ],
      [
        with_({ procMount: "Unmasked" }),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
      ],
      [
        { securityContext: { seccompProfile: { type: "Unconfined" } } },
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
      ],
      [
        { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } },
        "forbidden sysctls (kernel.msgmax)",
      ],
    ];
    for (const [spec, wanted] of table) assert.deepEqual(told(spec), [wanted]);
  });

  it("checks init and ephemeral containers too, and lists containers with the same violation together", () => {
    for (const list of ["initContainers", "ephemeralContainers"])
      assert.equal(told(with_({ privileged: true }, list)).length, 1, list);
    const two = ["a", "b"].map((name) => ({ name, securityContext: { privileged: true } }));
    assert.deepEqual(told({ containers: two }), [
      'privileged (containers "a", "b" must not set securityContext.privileged=true)',
    ]);
  });

  it("restricted includes baseline", () => {
    assert.equal(told({}, "restricted").length, 4);
    const securityContext = {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    };
    assert.deepEqual(told(with_(securityContext), "restricted"), []);
    assert.equal(told({ ...with_(securityContext), hostPID: true }, "restricted").length, 1);
  });

  it("all violations are reported in one sentence", () => {
    const violations = violationsOf({ containers: [plain], hostPID: true }, "baseline");
    assert.equal(
      violationText(violations, "baseline"),
      'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    );
  });
});
