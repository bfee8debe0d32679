import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { expressionTable, outcomeOf } from "../test-support/expression-table.ts";
import { declaredValue } from "../types/declared-type.ts";
import {
  AUTHORIZER_TYPE,
  type AuthorizationAttributes,
  type Authorizer,
  CelAuthorizer,
  CelResourceCheck,
  RESOURCE_CHECK_TYPE,
} from "./authorizer.ts";
import { kubernetesEnvironment } from "./kubernetes-environment.ts";

const environment = kubernetesEnvironment.extend({
  variables: {
    authorizer: declaredValue(AUTHORIZER_TYPE),
    "authorizer.requestResource": declaredValue(RESOURCE_CHECK_TYPE),
  },
});

function recording(asked: AuthorizationAttributes[], user = "admin"): Authorizer {
  return {
    authorize: (attributes) => {
      asked.push(attributes);
      if (attributes.verb === "explode") return { allowed: false, reason: "", error: "broken" };
      return { allowed: attributes.verb === "get", reason: `because ${user}` };
    },
    forServiceAccount: (namespace, name) => recording(asked, `${namespace}:${name}`),
  };
}

function activation(asked: AuthorizationAttributes[] = []) {
  const authorizer = recording(asked);
  const requestResource = new CelResourceCheck(authorizer, {
    group: "apps",
    resource: "deployments",
    subresource: "",
    namespace: "default",
    name: "web",
    fieldSelector: "",
    labelSelector: "",
  });
  return {
    authorizer: new CelAuthorizer(authorizer),
    "authorizer.requestResource": requestResource,
  };
}

describe("authorizer", () => {
  expressionTable(
    it,
    [
      ["authorizer.path('/healthz').check('get').allowed()", "true"],
      ["authorizer.path(' ').check('get').allowed()", "error: path must not be empty"],
      [
        "authorizer.group('').resource('').check('get').allowed()",
        "error: resource must not be empty",
      ],
      ["authorizer.group('apps').resource('deployments').check('create').allowed()", "false"],
      ["authorizer.requestResource.check('get').allowed()", "true"],
      ["authorizer.path('/x').check('explode').errored()", "true"],
      ["authorizer.path('/x').check('explode').error()", '"broken"'],
      ["authorizer.path('/x').check('get').error()", '""'],
      ["authorizer.path('/x').check('get').reason()", '"because admin"'],
      [
        "authorizer.serviceAccount('default', 'robot').path('/x').check('get').reason()",
        '"because default:robot"',
      ],
      [
        "authorizer.serviceAccount('no@ns', 'robot').path('/x').check('get').allowed()",
        "error: Invalid service account namespace",
      ],
      [
        "authorizer.serviceAccount('default', '@').path('/x').check('get').allowed()",
        "error: Invalid service account name",
      ],
    ],
    environment,
    activation(),
  );

  it("hands over everything that was said about a resource", () => {
    const asked: AuthorizationAttributes[] = [];
    const expression =
      "authorizer.group('g').resource('r').subresource('s').namespace('n').name('m').fieldSelector('a=b').labelSelector('c').check('get').allowed()";
    assert.equal(outcomeOf(expression, environment, activation(asked)), "true");
    assert.deepEqual(asked, [
      {
        kind: "resource",
        group: "g",
        resource: "r",
        subresource: "s",
        namespace: "n",
        name: "m",
        fieldSelector: "a=b",
        labelSelector: "c",
        verb: "get",
      },
    ]);
  });

  it("allows two checks within the limit of one call, and not three", () => {
    const one = "authorizer.path('/x').check('get').allowed()";
    const evaluate = (text: string) => {
      const compilation = compile(text, environment);
      assert.ok(compilation.ok);
      return compilation.program.evaluate(activation());
    };
    assert.equal(evaluate(`${one} && ${one}`).result, true);
    assert.equal(evaluate(`${one} && ${one} && ${one}`).cancelled, "cost");
  });
});
