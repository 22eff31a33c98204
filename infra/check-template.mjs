// Checks a synthesized template against AWS's own specification of resource types, without an
// account. It finds unknown types, unknown and missing properties, values that their property does
// not accept, and references to nothing.
//
//   node infra/check-template.mjs build/cdk.out/Whittle-example.template.json

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec';

/** check returns the template's faults, one line each. db is the result of loadAwsServiceSpecSync. */
export function check(template, db) {
  const faults = [];
  for (const [logicalID, resource] of Object.entries(template.Resources ?? {})) {
    for (const dependency of [resource.DependsOn ?? []].flat()) {
      if (template.Resources[dependency]) continue;
      faults.push(`${logicalID}: DependsOn names ${dependency}, which is not in the template`);
    }
    checkReferences(template, db, logicalID, resource.Properties ?? {}, faults);
    if (resource.Type.startsWith('Custom::')) continue;
    const spec = db.lookup('resource', 'cloudFormationType', 'equals', resource.Type)[0];
    if (!spec) {
      faults.push(`${logicalID}: ${resource.Type} is not a resource type`);
      continue;
    }
    checkProperties(db, `${logicalID} (${resource.Type})`, spec.properties, resource.Properties ?? {}, faults);
  }
  for (const [name, output] of Object.entries(template.Outputs ?? {})) {
    checkReferences(template, db, `output ${name}`, output.Value, faults);
  }
  return faults;
}

function checkProperties(db, path, specified, given, faults) {
  for (const [name, property] of Object.entries(specified)) {
    if (property.required && given[name] === undefined) faults.push(`${path}: ${name} is missing`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (!specified[name]) faults.push(`${path}: ${name} is not a property`);
    else checkValue(db, `${path}: ${name}`, specified[name].type, value, faults);
  }
}

function checkValue(db, path, type, value, faults) {
  if (isIntrinsic(value)) return;
  switch (type.type) {
    case 'string':
    case 'date-time':
      if (typeof value !== 'string') faults.push(`${path} is ${JSON.stringify(value)}, not a string`);
      else if (type.allowedValues && !type.allowedValues.includes(value)) {
        faults.push(`${path} is ${JSON.stringify(value)}, not one of ${type.allowedValues.join(', ')}`);
      }
      break;
    case 'integer':
    case 'number':
      if (typeof value !== 'number') faults.push(`${path} is ${JSON.stringify(value)}, not a number`);
      else if (type.type === 'integer' && !Number.isInteger(value)) faults.push(`${path} is ${value}, not whole`);
      break;
    case 'boolean':
      if (typeof value !== 'boolean') faults.push(`${path} is ${JSON.stringify(value)}, not true or false`);
      break;
    case 'array':
      if (!Array.isArray(value)) faults.push(`${path} is not a list`);
      else value.forEach((item, i) => checkValue(db, `${path}[${i}]`, type.element, item, faults));
      break;
    case 'map':
      if (!isObject(value)) faults.push(`${path} is not a map`);
      else {
        for (const [key, item] of Object.entries(value)) checkValue(db, `${path}.${key}`, type.element, item, faults);
      }
      break;
    case 'ref': {
      const definition = db.get('typeDefinition', type.reference.$ref);
      if (!isObject(value)) faults.push(`${path} is not a ${definition.name}`);
      else checkProperties(db, path, definition.properties, value, faults);
      break;
    }
    case 'union': {
      const attempts = type.types.map((alternative) => {
        const found = [];
        checkValue(db, path, alternative, value, found);
        return found;
      });
      if (attempts.every((found) => found.length > 0)) faults.push(...attempts[0]);
      break;
    }
    // json and tag accept any value: policies and patterns have their own tests.
  }
}

function checkReferences(template, db, path, value, faults) {
  if (Array.isArray(value)) {
    for (const item of value) checkReferences(template, db, path, item, faults);
  } else if (isObject(value)) {
    if (isIntrinsic(value)) checkIntrinsic(template, db, path, value, faults);
    for (const item of Object.values(value)) checkReferences(template, db, path, item, faults);
  }
}

const pseudoParameters = [
  'AWS::AccountId', 'AWS::NotificationARNs', 'AWS::NoValue', 'AWS::Partition', 'AWS::Region', 'AWS::StackId',
  'AWS::StackName', 'AWS::URLSuffix',
];

function checkIntrinsic(template, db, path, value, faults) {
  const reference = (name) => {
    if (!pseudoParameters.includes(name) && !template.Resources[name] && !template.Parameters?.[name]) {
      faults.push(`${path}: refers to ${name}, which is not in the template`);
    }
  };
  const attribute = (name, attributeName) => {
    const resource = template.Resources[name];
    if (!resource) faults.push(`${path}: refers to ${name}, which is not in the template`);
    else if (!resource.Type.startsWith('Custom::')) {
      const spec = db.lookup('resource', 'cloudFormationType', 'equals', resource.Type)[0];
      if (spec && !spec.attributes[attributeName]) {
        faults.push(`${path}: ${resource.Type} has no attribute ${attributeName}`);
      }
    }
  };
  if (value.Ref) reference(value.Ref);
  if (value['Fn::GetAtt']) attribute(...[value['Fn::GetAtt']].flat());
  if (value['Fn::Sub']) {
    const [text, variables] = [value['Fn::Sub']].flat();
    for (const [, name] of text.matchAll(/\$\{([^!}][^}]*)\}/g)) {
      const [resource, ...rest] = name.split('.');
      if (variables?.[name] !== undefined) continue;
      if (rest.length > 0) attribute(resource, rest.join('.'));
      else reference(name);
    }
  }
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isIntrinsic(value) {
  if (!isObject(value)) return false;
  const keys = Object.keys(value);
  return keys.length === 1 && (keys[0] === 'Ref' || keys[0].startsWith('Fn::'));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [path] = process.argv.slice(2);
  if (!path) {
    console.error('usage: node infra/check-template.mjs TEMPLATE');
    process.exit(2);
  }
  const template = JSON.parse(readFileSync(path, 'utf8'));
  const faults = check(template, loadAwsServiceSpecSync());
  for (const fault of faults) console.error(fault);
  console.log(`${path}: ${Object.keys(template.Resources ?? {}).length} resources, ${faults.length} faults`);
  process.exit(faults.length > 0 ? 1 : 0);
}
