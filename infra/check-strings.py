"""Compares the strings of templates with what AWS's services accept.

CloudFormation passes properties on to the services' own calls. Patterns and lengths are those of the calls' models,
which botocore has, and those of the documents where the models have none. cfn-lint knows few of them.

    python infra/check-strings.py build/cdk.out/Whittle-example.template.json
"""

import importlib
import json
import sys

import botocore.session
import regex

policies = importlib.import_module('check-policies')

# The call that makes each type of resource.
CALLS = {
    'AWS::CloudWatch::Alarm': ('cloudwatch', 'PutMetricAlarm'),
    'AWS::CloudWatch::CompositeAlarm': ('cloudwatch', 'PutCompositeAlarm'),
    'AWS::CloudWatch::Dashboard': ('cloudwatch', 'PutDashboard'),
    'AWS::EC2::SecurityGroupIngress': ('ec2', 'AuthorizeSecurityGroupIngress'),
    'AWS::EKS::AccessEntry': ('eks', 'CreateAccessEntry'),
    'AWS::Events::Rule': ('events', 'PutRule'),
    'AWS::IAM::InstanceProfile': ('iam', 'CreateInstanceProfile'),
    'AWS::IAM::Role': ('iam', 'CreateRole'),
    'AWS::Lambda::EventInvokeConfig': ('lambda', 'PutFunctionEventInvokeConfig'),
    'AWS::Lambda::EventSourceMapping': ('lambda', 'CreateEventSourceMapping'),
    'AWS::Lambda::Function': ('lambda', 'CreateFunction'),
    'AWS::Lambda::Permission': ('lambda', 'AddPermission'),
    'AWS::Logs::LogGroup': ('logs', 'CreateLogGroup'),
    'AWS::Logs::MetricFilter': ('logs', 'PutMetricFilter'),
    'AWS::Logs::QueryDefinition': ('logs', 'PutQueryDefinition'),
    'AWS::SNS::Subscription': ('sns', 'Subscribe'),
    'AWS::SNS::Topic': ('sns', 'CreateTopic'),
    'AWS::SNS::TopicPolicy': ('sns', 'SetTopicAttributes'),
    'AWS::SQS::Queue': ('sqs', 'CreateQueue'),
    'AWS::SQS::QueuePolicy': ('sqs', 'SetQueueAttributes'),
    'AWS::Scheduler::Schedule': ('scheduler', 'CreateSchedule'),
    'AWS::Scheduler::ScheduleGroup': ('scheduler', 'CreateScheduleGroup'),
}
# CloudFormation's own, which no service's call makes.
OWN = ('AWS::CDK::', 'Custom::')

# What the models lack, by type and property.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html
RULE = r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}"
DOCUMENTED = {
    ('AWS::EC2::SecurityGroupIngress', 'Description'): RULE,
    ('AWS::EC2::SecurityGroupIngress', 'GroupId'): r'sg-[0-9a-f]{8,17}',
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
    ('AWS::SQS::Queue', 'QueueName'): r'[a-zA-Z0-9_-]{1,80}',
    # https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html
    ('AWS::SNS::Topic', 'TopicName'): r'[a-zA-Z0-9_-]{1,256}',
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutDashboard.html
    ('AWS::CloudWatch::Dashboard', 'DashboardName'): r'[a-zA-Z0-9_-]{1,255}',
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
    ('AWS::EKS::AccessEntry', 'Username'): r'(?!system:|eks:|aws:|amazon:|iam:).{1,128}',
}
# https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
TAG_KEY, TAG_VALUE = r'(?!aws:)[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}', r'[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}'
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
DESCRIPTION_BYTES = 1024

SESSION = botocore.session.get_session()


def text_of(value, resources):
    """Returns the value as CloudFormation gives it to the service, or None where that is known at deployment only."""
    try:
        text = policies.resolved(value, resources)
    except (KeyError, TypeError, AttributeError):
        return None
    return text if isinstance(text, str) else None


def shape_faults(where, shape, value, resources):
    """Returns how a value differs from the shape of a call's parameter: a sentence each."""
    if shape.type_name == 'structure' and isinstance(value, dict):
        members = {name.lower(): member for name, member in shape.members.items()}
        found = []
        for key, inner in value.items():
            if key.lower() in members:
                found += shape_faults(f'{where}.{key}', members[key.lower()], inner, resources)
        return found
    if shape.type_name == 'list' and isinstance(value, list):
        return [fault for inner in value for fault in shape_faults(where, shape.member, inner, resources)]
    if shape.type_name != 'string':
        return []
    text = text_of(value, resources)
    limits = shape.metadata
    if text is None:
        return []
    if not limits.get('min', 0) <= len(text) <= limits.get('max', len(text)):
        allowed = f"{limits.get('min', 0)} to {limits.get('max')}"
        return [f'{where} has {len(text)} characters, {allowed} are allowed: {text!r}']
    if 'pattern' in limits and not regex.fullmatch(limits['pattern'], text, timeout=5):
        return [f"{where} is {text!r}, which does not match {limits['pattern']}"]
    return []


def resource_faults(logical_id, resource, resources):
    """Returns what a service would refuse in a resource."""
    kind, properties = resource['Type'], resource.get('Properties', {})
    if kind.startswith(OWN):
        return []
    if kind not in CALLS:
        return [f'{logical_id}: no call is known that makes a {kind}: add it to CALLS']
    service, operation = CALLS[kind]
    shape = SESSION.get_service_model(service).operation_model(operation).input_shape
    found = shape_faults(logical_id, shape, properties, resources)
    for (documented, name), pattern in DOCUMENTED.items():
        text = text_of(properties.get(name), resources) if documented == kind else None
        if text is not None and not regex.fullmatch(pattern, text):
            found.append(f'{logical_id}.{name} is {text!r}, which does not match {pattern}')
    return found + tag_faults(logical_id, properties.get('Tags', []), resources)


def tag_faults(logical_id, tags, resources):
    """Returns the tags that no service takes. Tags are a list of keys and values, or an object."""
    pairs = tags.items() if isinstance(tags, dict) else [(tag['Key'], tag['Value']) for tag in tags]
    found = []
    for key, value in pairs:
        text = text_of(value, resources)
        if not regex.fullmatch(TAG_KEY, key) or text is not None and not regex.fullmatch(TAG_VALUE, text):
            found.append(f'{logical_id} has the tag {key!r} with {value!r}, which AWS refuses')
    return found


def faults(template):
    """Returns what AWS would refuse in a template."""
    resources, found = template['Resources'], []
    for logical_id, resource in resources.items():
        found += resource_faults(logical_id, resource, resources)
    described = {'the template': template, **template.get('Outputs', {})}
    for name, part in described.items():
        if len(part.get('Description', '').encode()) > DESCRIPTION_BYTES:
            found.append(f'the description of {name} has more than {DESCRIPTION_BYTES} bytes')
    return found


def main(files):
    failed = False
    for file in files:
        with open(file, encoding='utf-8') as template:
            found = faults(json.load(template))
        print(*found, f'{file}: {len(found)} strings that AWS refuses', sep='\n')
        failed = failed or found
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main(sys.argv[1:])
