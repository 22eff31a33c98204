"""Tests that check-policies.py finds each kind of fault."""

import importlib
import unittest

checker = importlib.import_module('check-policies')
INSTANCES = 'arn:aws:ec2:us-east-1:123456789012:instance/*'


class Faults(unittest.TestCase):
    """Each test is a statement with one fault, beside the same without it."""

    def check(self, fault, **statement):
        found = checker.statement_faults({'Effect': 'Allow', **statement})
        self.assertEqual(len(found), 1 if fault else 0, found)
        if fault:
            self.assertIn(fault, found[0])

    def test_actions(self):
        self.check('', Action='ec2:TerminateInstances', Resource=INSTANCES)
        self.check('ec2:EndInstances is no action', Action=['ec2:TerminateInstances', 'ec2:EndInstances'],
                   Resource=INSTANCES)
        self.check('ec3:TerminateInstances is no action', Action='ec3:TerminateInstances')

    def test_resources(self):
        self.check('', Action='pricing:GetProducts', Resource='*')
        self.check('', Action='sqs:*', Resource='arn:aws:sqs:us-east-1:123456789012:queue')
        self.check('acts on none', Action=['ec2:TerminateInstances', 'iam:GetRole'], Resource=[INSTANCES])
        self.check('no action of the statement acts on arn:aws:ec2:us-east-1:*:subnet/*', Action='ec2:TerminateInstances',
                   Resource=[INSTANCES, 'arn:aws:ec2:us-east-1:*:subnet/*'])

    def test_breadth(self):
        self.check('ec2:TerminateInstances acts on every resource', Action='ec2:TerminateInstances', Resource='*')
        self.check('', Action='ec2:TerminateInstances', Resource='*',
                   Condition={'StringEquals': {'aws:ResourceTag/team': 'x'}})
        self.check('', Action='ec2:TerminateInstances', Resource='*', Effect='Deny')

    def test_conditions(self):
        def under(key):
            return {'Action': 'ec2:TerminateInstances', 'Resource': INSTANCES, 'Condition': {'StringEquals': {key: 'x'}}}
        self.check('', **under('aws:ResourceTag/team'))
        self.check('', **under('aws:RequestedRegion'))
        self.check('does not know the condition key aws:RequestTag/team', **under('aws:RequestTag/team'))
        self.check('does not know the condition key ec2:Colour', **under('ec2:Colour'))

    def test_templates(self):
        resources = {'Queue': {'Type': 'AWS::SQS::Queue'}, 'Role': {'Type': 'AWS::IAM::Role', 'Properties': {
            'AssumeRolePolicyDocument': {'Statement': [{'Action': 'sts:AssumeRole'}]},
            'Policies': [{'PolicyDocument': {'Statement': [
                {'Sid': 'Send', 'Action': 'sqs:SendMessages', 'Resource': {'Fn::GetAtt': ['Queue', 'Arn']}},
                {'Sid': 'Log', 'Action': 'logs:PutLogEvents', 'Resource': {'Fn::Sub': 'arn:${AWS::Partition}:ec2:::x'}},
            ]}}]}}}
        count, found = checker.faults({'Resources': resources})
        self.assertEqual(count, 3)
        self.assertEqual([fault.split(': ')[0] for fault in found], ['Role Send', 'Role Send', 'Role Log', 'Role Log'])


if __name__ == '__main__':
    unittest.main()
